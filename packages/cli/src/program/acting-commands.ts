import type { Command } from 'commander'
import type { RowAction } from 'sendoff/admin'
import { addFilters } from './filter-options.ts'
import { examples } from './looking-commands.ts'
import { type RunCommand, runs } from './run-command.ts'

const actions: readonly {
  readonly action: RowAction
  readonly summary: string
  readonly description: string
  readonly hasStatus?: string
  readonly hasReason?: true
  readonly examples: readonly string[]
}[] = [
  {
    action: 'replay',
    summary: 'deliver DEAD events again',
    description: 'Makes DEAD events NEW and due at once.',
    examples: [
      'replay --destination mail --since 02:00 --rate 20',
      'replay --error TimeoutError --dry-run',
      'replay --plan 12',
    ],
  },
  {
    action: 'cancel',
    summary: 'give up pending events',
    description: 'Makes pending events DEAD that no worker holds.',
    hasStatus: 'NEW, RETRY or BLOCKED only',
    hasReason: true,
    examples: [
      'cancel --type OrderReminder --reason "Shop closed"',
      'cancel 01M5X2V7Q8RJ3K4N5P6T7V8W9X --yes',
    ],
  },
  {
    action: 'skip',
    summary: 'give up blocked events, so that their keys continue',
    description: 'Makes blocked events DEAD. The next events of their keys have their turn.',
    hasReason: true,
    examples: ['skip --key customer-17', 'skip --all --dry-run'],
  },
  {
    action: 'purge',
    summary: 'delete DONE and DEAD events for ever',
    description: 'Deletes DONE and DEAD events with their failed attempts.',
    hasStatus: 'DONE or DEAD only',
    examples: ['purge --status DONE --until 30d', 'purge --status DEAD --type Ping --yes'],
  },
]

/** Adds the commands that change something. */
export function addActingCommands(program: Command, run: RunCommand): void {
  for (const { action, summary, description, hasStatus, hasReason, examples: lines } of actions) {
    const command = program
      .command(`${action} [event]`)
      .summary(summary)
      .description(`${description} Shows first how many there are and some of them, and asks.`)
    if (hasStatus !== undefined) command.option('--status <states>', hasStatus)
    addFilters(command)
      .option('--all', 'all such events, without a filter')
      .option('--rate <number>', 'how many events per second at most')
      .option('--dry-run', 'show what would be done, and do nothing')
      .option('-y, --yes', 'act without a question')
      .option('--plan <id>', 'continue a plan that was stopped or killed')
    if (hasReason) command.option('--reason <text>', 'the error text of the events')
    command.addHelpText('after', examples(...lines))
    runs(command, run, async () => (await import('../commands/plan-action.ts')).planAction(action))
  }
  addPauses(program, run)
  addKeys(program, run)
}

function addPauses(program: Command, run: RunCommand): void {
  const pause = program
    .command('pause')
    .summary('stop the delivery of a type or to a destination')
    .description('Stops a delivery on every process. Without an option, prints what is paused.')
  const resume = program
    .command('resume')
    .summary('end a pause')
    .description('Ends a pause on every process.')
  for (const command of [pause, resume]) {
    command
      .option('--type <name>', 'the event type')
      .option('--destination <name>', 'the destination')
      .addHelpText(
        'after',
        examples(`${command.name()} --type OrderPlaced`, `${command.name()} --destination mail`),
      )
  }
  runs(pause, run, async () => (await import('../commands/pause.ts')).pause)
  runs(resume, run, async () => (await import('../commands/pause.ts')).resume)
}

function addKeys(program: Command, run: RunCommand): void {
  const keys = program
    .command('keys')
    .summary('list blocked ordering keys, and decide about them')
    .description('Lists ordering keys that are parked, or whose first event is blocked or has failed.')
    .option('--destination <name>', 'only keys of this destination')
    .option('-n, --limit <number>', 'how many keys of each destination', '100')
    .option('--after <key>', 'keys behind this one, by name')
    .addHelpText(
      'after',
      examples(
        'keys',
        'keys retry customer-17',
        'keys skip customer-17 --reason "Bad address"',
        'keys park customer-17',
      ),
    )
  runs(keys, run, async () => (await import('../commands/keys.ts')).keys)

  const action = (name: string, summary: string) =>
    keys
      .command(`${name} <key>`)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1).replace(/\w+/, '$&s')}.`)
  const retry = action('retry', 'make the first event of a key due now')
  const skip = action('skip', 'make the first event of a key DEAD, so that the next one has its turn')
    .option('--reason <text>', 'the error text of the event')
    .option('-y, --yes', 'act without a question')
  const park = action('park', 'stop the delivery of a key')
  const unpark = action('unpark', 'deliver a parked key again')
  runs(retry, run, async () => (await import('../commands/keys.ts')).retryKey)
  runs(skip, run, async () => (await import('../commands/keys.ts')).skipKey)
  runs(park, run, async () => (await import('../commands/keys.ts')).parkKey)
  runs(unpark, run, async () => (await import('../commands/keys.ts')).unparkKey)
}
