# Reference fits for the cumulative-logit mixed model. Run in this folder: Rscript ordinal_mixed.R
# Reads ordinal_wine.csv (Randall 1989, as in R's ordinal package, GPL >= 2) and ordinal_small.csv (simulated here).
suppressMessages({library(ordinal); library(lme4)})
options(digits = 15)

set.seed(20261101)
people <- 24; d <- NULL
for (p in seq_len(people)) {
  u <- rnorm(1, 0, 1.3)
  for (c in seq_len(sample(1:4, 1))) {
    b <- rnorm(1, 0, 0.9); n <- sample(1:7, 1)
    d <- rbind(d, data.frame(participant = sprintf("P%02d", p), conversation = sprintf("P%02d-%d", p, c),
                             turn = seq_len(n), warm = as.integer(runif(1) < 0.5), effect = u + b))
  }
}
latent <- 0.9 * d$warm - 0.12 * d$turn + d$effect + rlogis(nrow(d))
d$rating <- as.integer(cut(latent, c(-Inf, -2, -0.6, 0.7, 2.2, Inf)))
d$high <- as.integer(d$rating >= 4); d$effect <- NULL
write.csv(d, "ordinal_small.csv", row.names = FALSE)

# By default both programs stop their inner searches early, which moves Laplace likelihoods by up to 1e-3: estimates
# come from tight fits. clmm's errors are differenced twice and noisy after a tight fit: they come from a default one.
tight <- clmm.control(gradTol = 1e-10, innerCtrl = "noWarn", maxIter = 500)
rows <- function(case, term, estimate, std_error = NA)
  data.frame(case = case, term = term, estimate = as.numeric(estimate), std_error = as.numeric(std_error))
of_clmm <- function(case, ...) {
  m <- clmm(..., control = tight); s <- cbind(coef(m), summary(clmm(...))$coefficients[, 2]); v <- unlist(lapply(VarCorr(m), function(x) x[1, 1]))
  rbind(rows(case, rownames(s), s[, 1], s[, 2]), rows(case, paste("variance", names(v)), v), rows(case, "logLik", logLik(m)))
}
of_glmer <- function(case, m) {
  s <- summary(m)$coefficients; v <- as.data.frame(VarCorr(m))
  rbind(rows(case, rownames(s), s[, 1], s[, 2]), rows(case, paste("variance", v$grp), v$vcov), rows(case, "logLik", logLik(m)))
}
wine <- read.csv("ordinal_wine.csv"); wine$rating <- factor(wine$rating, ordered = TRUE); wine$judge <- factor(wine$judge)
for (v in c("participant", "conversation")) d[[v]] <- factor(d[[v]])
d$y <- factor(d$rating, ordered = TRUE)
fine <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-13, optCtrl = list(rhoend = 1e-11, maxfun = 1e5))
out <- rbind(
  of_clmm("wine Laplace", rating ~ temp + contact + (1 | judge), wine),
  of_clmm("wine 10 points", rating ~ temp + contact + (1 | judge), wine, nAGQ = 10),
  of_clmm("small participant Laplace", y ~ turn + warm + (1 | participant), d),
  of_clmm("small participant 7 points", y ~ turn + warm + (1 | participant), d, nAGQ = 7),
  of_clmm("small nested Laplace", y ~ turn + warm + (1 | participant) + (1 | conversation), d),
  of_glmer("small two levels Laplace", glmer(high ~ turn + warm + (1 | participant), d, binomial, control = fine)),
  of_glmer("small two levels 7 points", glmer(high ~ turn + warm + (1 | participant), d, binomial, nAGQ = 7, control = fine)),
  of_glmer("small two levels nested Laplace", glmer(high ~ turn + warm + (1 | participant/conversation), d, binomial, control = fine)))
write.csv(format(out, digits = 12, trim = TRUE), "ordinal_mixed.csv", row.names = FALSE, quote = FALSE)
cat(R.version.string, "ordinal", format(packageVersion("ordinal")), "lme4", format(packageVersion("lme4")), "\n")
