# Appended to the site's own Rprofile.site while R is started ahead of its job
# (init_warm.c). The default packages, usually attached later, are most of what
# there is to wait for. The gate is opened before it is said to be waited at,
# since it is unlinked then.
if (Sys.getpid() == 2L) local({
    .First.sys()
    go <- file("/tmp/.go", "rb", raw = TRUE)
    ready <- file("/tmp/.ready", "wb", raw = TRUE)
    writeBin(as.raw(82L), ready)
    close(ready)
    if (readBin(go, "raw", 1L) == as.raw(72L)) {
        helper <- raw()
        while (length(more <- readBin(go, "raw", 65536L)) > 0L)
            helper <- c(helper, more)
        helper <- helper[seq_len(which(helper == 0L)[1L] - 1L)]
        eval(parse(text = rawToChar(helper)), baseenv())
    }
    close(go)
})
