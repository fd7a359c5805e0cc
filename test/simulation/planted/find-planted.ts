// Plants one bug after another, and shows after how many histories the simulation finds each. `--help` lists
// the options.
import { parseArgs } from 'node:util'
import { type BugSearch, findBug } from './find-bug.ts'
import { type PlantedBug, plantedBugs } from './planted-bugs.ts'

const help = `node test/simulation/planted/find-planted.ts [options] [names]

  names      parts of the names of the bugs to plant (default: all)
  --seed S   the first seed of each search (default 1)
`

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}
const bugs = plantedBugs.filter(({ file }) => names.length === 0 || names.some((name) => file.includes(name)))
if (bugs.length === 0) throw new Error(`No planted bug has ${names.join(' or ')} in its name.`)

console.log(line(['bug', 'mode', 'rule that found it', 'seed', 'histories', 'seconds']))
let missed = 0
for (const bug of bugs) {
  try {
    const search = await findBug(bug, Number(values.seed))
    if (search.finding === undefined) missed += 1
    console.log(line(cellsOf(bug, search)))
  } catch (error) {
    missed += 1
    console.log(`${nameOf(bug)}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
console.log(`${bugs.length - missed} of ${bugs.length} found`)
process.exitCode = missed === 0 ? 0 : 1

function cellsOf(bug: PlantedBug, { finding, histories, seconds }: BugSearch): readonly string[] {
  const { mode, rule, seed } = finding ?? { mode: bug.modes.join(' '), rule: 'NOT FOUND', seed: '' }
  return [nameOf(bug), mode, rule, String(seed), String(histories), seconds.toFixed(1)]
}

function nameOf({ file }: PlantedBug): string {
  return file.replace(/\.patch$/, '')
}

function line(cells: readonly string[]): string {
  const widths = [44, 13, 78, 10, 10, 8]
  return cells.map((cell, index) => cell.padEnd(widths[index]!)).join(' ')
}
