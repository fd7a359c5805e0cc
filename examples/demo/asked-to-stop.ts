/**
 * Returns a signal that aborts when this process should end: on SIGTERM, or when the process of the demo has
 * ended.
 */
export function askedToStop(): AbortSignal {
  const controller = new AbortController()
  const stop = () => controller.abort()

  process.once('SIGTERM', stop)
  process.once('disconnect', stop)
  // Ctrl-C reaches every process of the terminal. The demo decides what it means for this one.
  process.on('SIGINT', () => {})

  // The channel to the demo alone must not keep the process alive.
  process.channel?.unref()
  return controller.signal
}
