# Reference numbers for tracking, the test of the desired terms and the principal axes of the response surface.
# Run in this folder: Rscript models.R. R 4.2.2, lme4 1.1-31, lmerTest 3.1-3. Data: conversations.csv (simulated).
suppressMessages({library(lme4); library(lmerTest)})
d <- read.csv("conversations.csv")
d$dp <- 50*(d$desired-1); d$ep <- 25*(d$experienced-1)
d$within <- d$dp - ave(d$dp, d$participant); d$between <- ave(d$dp, d$participant)
tracking <- function(f) { s <- summary(lmer(f, d))$coefficients[c("within","between"),]; data.frame(term=rownames(s), s) }
a <- tracking(ep ~ within + between + (1|participant)); a$model <- "as it is"
b <- tracking(ep ~ within + between + task + (1|participant)); b$model <- "task held fixed"
out <- rbind(a, b); names(out)[2:6] <- c("estimate","std_error","df","statistic","p_value")
write.csv(format(out, digits=15, trim=TRUE), "tracking.csv", row.names=FALSE)
d$x <- d$desired-2; d$y <- (d$experienced-3)/2; d$x2 <- d$x^2; d$xy <- d$x*d$y; d$y2 <- d$y^2
full <- lme4::lmer(satisfaction ~ x + y + x2 + xy + y2 + (1|participant), d, REML=FALSE)
none <- lme4::lmer(satisfaction ~ y + y2 + (1|participant), d, REML=FALSE)
level <- lme4::lmer(satisfaction ~ factor(desired)*(y + y2) + (1|participant), d, REML=FALSE)
r <- lme4::lmer(satisfaction ~ x + y + x2 + xy + y2 + (1|participant), d)
b <- fixef(r)[-1]; V <- as.matrix(vcov(r))[-1,-1]
axis <- function(b) { X0 <- (b[2]*b[4]-2*b[1]*b[5])/(4*b[3]*b[5]-b[4]^2); Y0 <- (b[1]*b[4]-2*b[2]*b[3])/(4*b[3]*b[5]-b[4]^2)
  p11 <- (b[5]-b[3]+sqrt((b[3]-b[5])^2+b[4]^2))/b[4]; c(p10=unname(Y0-p11*X0), p11=unname(p11)) }
g <- sapply(1:5, function(j) { h <- rep(0,5); h[j] <- 1e-6; (axis(b+h)-axis(b-h))/2e-6 })
se <- sqrt(diag(g %*% V %*% t(g)))
lr <- function(m0, m1) 2*(as.numeric(logLik(m1))-as.numeric(logLik(m0)))
out <- data.frame(term=c("p10","p11","lrt desired terms, df 3","lrt desired as factor, df 6"), estimate=c(axis(b), lr(none,full), lr(none,level)), std_error=c(se,NA,NA))
write.csv(format(out, digits=15, trim=TRUE), "surface.csv", row.names=FALSE)
