import type { Command } from 'commander'

/** Adds the options that choose events. */
export function addFilters(command: Command): Command {
  return command
    .option('--id <id>', 'the event with this id')
    .option('--type <name>', 'events of this type')
    .option('--destination <name>', "events for this destination; '' for those without one")
    .option('--key <key>', 'events of this ordering key')
    .option('--aggregate <type/id>', 'events of this aggregate, or of this aggregate type')
    .option('--tenant <id>', 'events of this tenant')
    .option('--since <time>', 'written since: 15m, 2h, 3d, 14:30 or 2026-03-01T14:30')
    .option('--until <time>', 'written before')
    .option('--error <class>', 'whose last error is of this class, such as TimeoutError')
    .option('--text <text>', 'with this text in the payload or in the last error')
}
