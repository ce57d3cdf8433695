"""The room that makes questionnaires and shows what people's answers say about a benchmark."""
