// A questionnaire for PCIbex Farm (PennController). To use it: make a new project there, replace the text of main.js
// (Scripts) by this file, and upload pairs.csv under Resources. The farm gives each person the next list of the
// table. ?annotator=NAME in the address names a person; otherwise a random name is drawn.
PennController.ResetPrefix(null);
DebugOff();

const TEXTS = {{ texts|safe }};
const TRAINING = {{ training }};  // whether there are pairs of training
const MINIMUM = {{ milliseconds }};  // shortest time on a pair, in milliseconds
const ANNOTATOR = GetURLParameter("annotator") || Math.random().toString(36).slice(2, 12);

// PennController takes texts for HTML, so that a sentence with "<" would not be shown as it is.
const escaped = (text) =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

SetCounter("counter", "inc", 1);
Sequence("counter", "instructions", ...(TRAINING ? ["training", "over"] : []), "question", SendResults(), "end");

newTrial("instructions",
  newText("title", escaped(TEXTS.title)).bold().print(),
  ...TEXTS.instructions.map((text, number) => newText(`instructions-${number}`, `<p>${escaped(text)}</p>`).print()),
  ...(TRAINING ? [newText("practice", `<p>${escaped(TEXTS.training)}</p>`).print()] : []),
  newButton("begin", escaped(TEXTS.begin)).print().wait()
);

newTrial("over",
  newText("over", `<p>${escaped(TEXTS.trainingOver)}</p>`).print(),
  newButton("begin", escaped(TEXTS.begin)).print().wait()
);

Template(GetTable("pairs.csv").setGroupColumn("list"), (row) => {
  const sides = row.good_first === "true" ? ["good", "bad"] : ["bad", "good"];
  const feedback = row.kind !== "training" ? [] : [
    getSelector("choice").test.selected(getText("good"))
      .success(newText("right", escaped(TEXTS.right)).bold().print())
      .failure(newText("wrong", escaped(TEXTS.wrong)).bold().print()),
  ];
  return newTrial(row.kind === "training" ? "training" : "question",
    newTimer("minimum", MINIMUM).start(),
    ...sides.map((side, place) =>
      newText(side, escaped(row[side])).before(newText(`key-${place}`, place === 0 ? "F&nbsp;" : "J&nbsp;"))
        .css("padding", "0.6em").css("margin", "0.4em 0").css("border", "1px solid #767676").css("cursor", "pointer")
        .print()),
    // the elements have the names of their sides, so the results say good or bad
    newSelector("choice").add(...sides.map((side) => getText(side))).keys("F", "J").once().log().wait(),
    ...feedback,
    getTimer("minimum").wait(),
    newButton("next", escaped(TEXTS.next)).print().wait()
  )
    .log("annotator", ANNOTATOR)
    .log("item", row.item)
    .log("kind", row.kind)
    .log("list", row.list)
    .log("position", row.position)
    .log("page", row.page)
    .log("good_first", row.good_first);
});

newTrial("end",
  newText("thanks", `<p>${escaped(TEXTS.thanks)}</p>`).print(),
  newText("sent", `<p>${escaped(TEXTS.sent)}</p>`).print(),
  newButton("stay", "").wait()  // is never shown, so the page stays
);
