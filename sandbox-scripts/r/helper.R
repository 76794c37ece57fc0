# Run by hook.R, at the gate, for a job that asks for the figures that it draws:
# what would go to Rplots.pdf goes to a PNG each. A job with arguments does not
# come here: R cannot be given them once it has started.
(function() {
    devices <- 0L
    options(device = function(...) {
        devices <<- devices + 1L
        grDevices::png(sprintf("/tmp/.figures/%03d-%%03d.png", devices), ...)
    })
})()
