/** Aborts when this process should come to its end: on SIGTERM, or when the demo itself is gone. */
export function askedToStop(): AbortSignal {
  const controller = new AbortController()
  const stop = () => controller.abort()

  process.once('SIGTERM', stop)
  process.once('disconnect', stop)
  // Ctrl-C reaches every process of the terminal. What it means for this one, the demo decides.
  process.on('SIGINT', () => {})

  // The line to the demo alone should not keep the process alive.
  process.channel?.unref()
  return controller.signal
}
