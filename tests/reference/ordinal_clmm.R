# clmm's log-likelihoods of 20 simulated data sets. Run in this folder: Rscript ordinal_clmm.R
# Laplace, an intercept per participant; the last ten data sets also with one per conversation. By default clmm's inner
# search stops at a gradient of 1e-4, which moves its Laplace value by up to 1e-3 in either direction; a tight search is
# what its documentation defines.
suppressMessages(library(ordinal))
tight <- clmm.control(gradTol = 1e-10, innerCtrl = "noWarn", maxIter = 1000, maxLineIter = 200)
simulate <- function(seed) {
  set.seed(seed)
  people <- sample(12:40, 1); k <- sample(3:7, 1); sd <- runif(2, c(0.2, 0.1), c(2.2, 1.2)); d <- NULL
  for (p in seq_len(people)) {
    u <- rnorm(1, 0, sd[1])
    for (c in seq_len(sample(2:5, 1))) {
      n <- sample(2:8, 1)
      d <- rbind(d, data.frame(participant = p, conversation = 10 * p + c, turn = seq_len(n),
                               warm = as.integer(runif(1) < 0.5), effect = u + rnorm(1, 0, sd[2])))
    }
  }
  latent <- 0.8 * d$warm - 0.1 * d$turn + d$effect + rlogis(nrow(d))
  d$rating <- as.integer(cut(latent, c(-Inf, quantile(latent, seq(0.08, 0.8, length.out = k - 1)), Inf)))
  d[c("participant", "conversation", "turn", "warm", "rating")]
}
all <- NULL; rows <- NULL
for (seed in 1:20) {
  d <- simulate(seed); all <- rbind(all, cbind(seed = seed, d)); d$rating <- factor(d$rating, ordered = TRUE)
  for (v in c("participant", "conversation")) d[[v]] <- factor(d[[v]])
  models <- list(participant = rating ~ turn + warm + (1 | participant))
  if (seed > 10) models$nested <- rating ~ turn + warm + (1 | participant) + (1 | conversation)
  for (name in names(models)) {
    ll <- sapply(list(clmm.control(innerCtrl = "noWarn"), tight), function(ctrl) as.numeric(logLik(clmm(models[[name]], data = d, control = ctrl))))
    rows <- rbind(rows, data.frame(seed = seed, model = name, default = sprintf("%.9f", ll[1]), tight = sprintf("%.9f", ll[2])))
  }
}
connection <- gzfile("ordinal_clmm_data.csv.gz", "wb"); write.csv(all, connection, row.names = FALSE); close(connection)
write.csv(rows, "ordinal_clmm.csv", row.names = FALSE, quote = FALSE)
