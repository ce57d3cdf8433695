# Fit a hierarchical smooth to each curve of a CSV file and say where its derivative is surely below or above 0.
#
# Rscript mgcv.R counts.csv answers.csv
#
# counts.csv: curve, run, log_tokens, right, pairs. The model is quasi-binomial, with one smooth of the curve and a
# smooth for each run (bs = "fs": Pedersen, Miller, Simpson and Ross 2019, "Hierarchical generalized additive models in
# ecology", PeerJ 7:e6876, model GS). The simultaneous interval of the derivative of the curve's smooth takes the 95 %
# quantile of the largest standardized deviation of draws from the posterior (Ruppert, Wand and Carroll 2003,
# "Semiparametric Regression", section 6.5; for derivatives of smooths of mgcv: Simpson 2018, "Modelling
# palaeoecological time series using generalised additive models", Frontiers in Ecology and Evolution 6:149).

if (!requireNamespace("mgcv", quietly = TRUE)) quit(status = 3)
suppressPackageStartupMessages(library(mgcv))
set.seed(1)
DRAWS <- 10000
POINTS <- 200
STEP <- 1e-4  # decades, of the derivative by differences

fit <- function(counts) {
  size <- min(15, length(unique(counts$log_tokens)) - 1)
  curve <- sprintf("cbind(right, pairs - right) ~ s(log_tokens, k = %d)", size)
  runs <- if (nlevels(counts$run) > 1) "+ s(log_tokens, run, bs = 'fs', k = 5, m = 1)" else ""
  gam(as.formula(paste(curve, runs)), data = counts, family = quasibinomial, method = "REML")
}

population <- function(model, log_tokens, run) {
  matrix <- predict(model, data.frame(log_tokens = log_tokens, run = run), type = "lpmatrix")
  matrix[, grepl("log_tokens,run", colnames(matrix), fixed = TRUE)] <- 0
  matrix
}

describe <- function(counts) {
  counts$run <- factor(counts$run)
  model <- fit(counts)
  run <- counts$run[1]
  grid <- seq(min(counts$log_tokens), max(counts$log_tokens), length.out = POINTS)
  slope <- (population(model, grid + STEP, run) - population(model, grid - STEP, run)) / (2 * STEP)
  covariance <- vcov(model, unconditional = TRUE)
  error <- sqrt(rowSums((slope %*% covariance) * slope))
  deviations <- slope %*% t(rmvn(DRAWS, rep(0, ncol(covariance)), covariance))
  critical <- quantile(apply(abs(deviations / error), 2, max), 0.95)
  derivative <- as.vector(slope %*% coef(model))
  falls <- grid[derivative + critical * error < 0]
  rises <- grid[derivative - critical * error > 0]
  accuracy <- plogis(as.vector(population(model, grid, run) %*% coef(model)))
  first <- function(places) if (length(places)) min(places) else NA
  last <- function(places) if (length(places)) max(places) else NA
  data.frame(
    curve = counts$curve[1], runs = length(unique(counts$run)), edf = sum(model$edf), dispersion = model$scale,
    critical = critical, first_fall = first(falls), last_fall = last(falls), first_rise = first(rises),
    last_rise = last(rises), lowest = min(accuracy), lowest_at = grid[which.min(accuracy)]
  )
}

files <- commandArgs(trailingOnly = TRUE)
counts <- read.csv(files[1], colClasses = c(curve = "character", run = "character"))
answers <- do.call(rbind, lapply(split(counts, factor(counts$curve, unique(counts$curve))), describe))
write.csv(answers, files[2], row.names = FALSE)
