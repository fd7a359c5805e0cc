/** The names of the modes in a configuration, and the presets of `Outbox` that they stand for. */
export const outboxModes = {
  SINGLE_NODE: 'singleNode',
  MULTI_NODE: 'multiNode',
  SINGLE_WRITER: 'singleWriter',
  ORDERED: 'ordered',
  PARTITIONED: 'partitioned',
  WRITER_ONLY: 'writerOnly',
} as const

/** The name of a mode in a configuration. */
export type OutboxModeName = keyof typeof outboxModes

/** Returns the mode that a text names, whether as `MULTI_NODE`, `multi-node` or `multiNode`. */
export function modeOf(text: string): OutboxModeName | undefined {
  const name = text
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()
  return Object.hasOwn(outboxModes, name) ? (name as OutboxModeName) : undefined
}
