# Reference numbers for variance components, shrunken means, ICC(1), Brown-Forsythe, alpha, omega, AR(1).
# Run in this folder: Rscript variability.R. Writes turns.csv (simulated here) and expected.csv.
suppressMessages({library(lme4); library(nlme)})
options(digits = 15, contrasts = c("contr.treatment", "contr.poly"))
set.seed(20261130)
d <- NULL
for (p in 1:14) {
  u <- rnorm(1, 0, 0.7)
  for (c in seq_len(sample(1:5, 1))) {
    b <- rnorm(1, 0, 0.5); n <- sample(2:7, 1); e <- as.numeric(arima.sim(list(ar = 0.4), n, sd = 0.8)); task <- sample(c("A", "B", "C"), 1)
    latent <- 3.5 + u + b + e
    row <- data.frame(participant = sprintf("P%02d", p), conversation = sprintf("P%02d-%d", p, c), task = task, turn = seq_len(n),
                      overall = pmin(5, pmax(1, round(latent))))
    for (k in c("one", "two", "three", "four")) row[[k]] <- pmin(5, pmax(1, round(latent + rnorm(n, 0, 0.6))))
    d <- rbind(d, row)
  }
}
write.csv(d, "turns.csv", row.names = FALSE)
rows <- list(); add <- function(case, term, value) rows[[length(rows) + 1]] <<- data.frame(case = case, term = term, value = as.numeric(value))
tight <- lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-12))
for (fixed in c("1", "1 + task")) {
  m <- lmer(as.formula(paste("overall ~", fixed, "+ (1 | participant/conversation)")), d, control = tight); v <- as.data.frame(VarCorr(m))
  add(fixed, "participant", v$vcov[v$grp == "participant"]); add(fixed, "conversation", v$vcov[v$grp == "conversation:participant"]); add(fixed, "turn", sigma(m)^2)
  if (fixed == "1") { keep <- m; add(fixed, "mean", fixef(m)); add(fixed, "log_likelihood", logLik(m)) }
}
Z <- t(as.matrix(getME(keep, "Zt"))); X <- getME(keep, "X"); s2 <- sigma(keep)^2; L <- t(as.matrix(getME(keep, "Lambdat"))); G <- L %*% t(L) * s2
C <- solve(rbind(cbind(crossprod(X), crossprod(X, Z)), cbind(crossprod(Z, X), crossprod(Z) + solve(G) * s2)) / s2)
at <- 1 + getME(keep, "Gp")[which(names(getME(keep, "cnms")) == "participant")] + seq_along(levels(getME(keep, "flist")$participant))
u <- ranef(keep)$participant
for (j in seq_along(at)) { add("shrunken", rownames(u)[j], fixef(keep) + u[j, 1]); add("prediction error", rownames(u)[j], sqrt(C[1, 1] + C[at[j], at[j]] + 2 * C[1, at[j]])) }
a <- anova(lm(overall ~ participant, d)); n <- table(d$participant); n0 <- (sum(n) - sum(n^2) / sum(n)) / (length(n) - 1)
add("icc1", "icc1", (a[1, 3] - a[2, 3]) / (a[1, 3] + (n0 - 1) * a[2, 3]))
z <- abs(d$overall - ave(d$overall, d$participant, FUN = median)); b <- anova(lm(z ~ d$participant)); add("brown-forsythe", "f", b[1, 4]); add("brown-forsythe", "p", b[1, 5])
Y <- d[, c("one", "two", "three", "four")]
S <- cov(Y); add("reliability", "alpha", 4 / 3 * (1 - sum(diag(S)) / sum(S)))
S <- cov(Y); sds <- sqrt(diag(S)); f <- factanal(covmat = cov2cor(S), factors = 1, control = list(lower = 1e-4, opt = list(factr = 10)))
l <- f$loadings[, 1] * sds; add("reliability", "omega", sum(l)^2 / (sum(l)^2 + sum(f$uniquenesses * sds^2)))
o <- d[order(d$participant, d$conversation, d$turn), ]
a1 <- lme(overall ~ 1, random = ~ 1 | participant/conversation, data = o, correlation = corAR1(form = ~ turn | participant/conversation), control = lmeControl(msMaxIter = 200, tolerance = 1e-9, msTol = 1e-10))
add("ar1", "phi", coef(a1$modelStruct$corStruct, unconstrained = FALSE)); add("ar1", "log_likelihood", logLik(a1))
out <- do.call(rbind, rows); out$value <- format(out$value, digits = 15)
write.csv(out, "expected.csv", row.names = FALSE, quote = FALSE)
print(R.version.string); for (p in c("lme4", "nlme")) cat(p, as.character(packageVersion(p)), "\n")
