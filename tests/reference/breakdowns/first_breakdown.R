# Small reference for first breakdowns: 24 participants with unlike hazards, some censored, ties throughout.
# R 4.2.2, survival 3.5-3, sandwich 3.0-2. Run here: Rscript first_breakdown.R
suppressMessages({library(survival); library(sandwich)})
set.seed(11)
n <- 120
S <- data.frame(participant = sprintf("p%02d", sample(24, n, TRUE)), group = sample(c("a", "b", "c"), n, TRUE))
rate <- c(a = 0.08, b = 0.16, c = 0.3)[S$group] * exp(rnorm(24, 0, 0.6))[as.integer(sub("p", "", S$participant))]
fall <- rgeom(n, pmin(rate, 0.9)) + 1
stay <- sample(1:9, n, TRUE)
S$time <- pmin(fall, stay); S$event <- as.integer(fall <= stay)
write.csv(S, "first_breakdown_data.csv", row.names = FALSE, quote = FALSE)
f <- summary(survfit(Surv(time, event) ~ 1, S, conf.type = "log-log", cluster = participant), censored = TRUE)
K <- data.frame(case = "km", key = f$time, statistic = f$surv, std_error = f$std.err, conf_low = f$lower, conf_high = f$upper)
PP <- do.call(rbind, lapply(seq_len(n), function(i) data.frame(S[i, c("participant", "group")], turn = seq_len(S$time[i]), y = as.integer(seq_len(S$time[i]) == S$time[i] & S$event[i] == 1))))
# No conversation falls on turn 8 or later, so that turns from the 7th share one coefficient.
PP$bin <- factor(pmin(PP$turn, 7))
g <- glm(y ~ bin + group, binomial("cloglog"), PP, control = glm.control(epsilon = 1e-14, maxit = 200))
v <- vcovCL(g, PP$participant, type = "HC1"); i <- grep("^group", names(coef(g)))
w <- drop(t(coef(g)[i]) %*% solve(v[i, i]) %*% coef(g)[i])
H <- data.frame(case = "hazard", key = names(coef(g))[i], statistic = coef(g)[i], std_error = sqrt(diag(v))[i], conf_low = NA, conf_high = NA)
l <- survdiff(Surv(time, event) ~ group, S)
T <- data.frame(case = c("wald", "log_rank"), key = "group", statistic = c(w, l$chisq), std_error = NA, conf_low = NA, conf_high = NA)
options(digits = 16)
write.csv(rbind(K, H, T), "first_breakdown.csv", row.names = FALSE, quote = FALSE)
