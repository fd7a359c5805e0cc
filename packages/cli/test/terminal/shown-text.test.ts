import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cutLine, flowed, wrapped } from '../../src/terminal/fitted-text.ts'
import { laidOutJson } from '../../src/terminal/laid-out-json.ts'
import { paintFor } from '../../src/terminal/paint.ts'
import { printable } from '../../src/terminal/printable.ts'
import { progressText } from '../../src/terminal/progress-bar.ts'
import { countText, cut, durationText, estimateText, timeJson } from '../../src/terminal/shown-values.ts'
import { sparkline } from '../../src/terminal/sparkline.ts'
import { tableText } from '../../src/terminal/table.ts'

const plain = paintFor({}, {}, true)

describe('what is shown', () => {
  it('numbers have commas, and estimates say so', () => {
    deepEqual([0, 999, 1_204, 5_000_000].map(countText), ['0', '999', '1,204', '5,000,000'])
    equal(estimateText({ count: 5_000_000, isExact: false }), 'about 5,000,000')
  })

  it('durations have their two largest units', () => {
    const shown = [-5, 480, 1_500, 59_000, 60_000, 252_000, 3_600_000, 7_260_000, 86_400_000, 266_400_000]
    deepEqual(shown.map(durationText), [
      ...[
        '0 ms',
        '480 ms',
        '1.5 s',
        '59 s',
        '1 min',
        '4 min 12 s',
        '1 h',
        '2 h 1 min',
        '1 day',
        '3 days 2 h',
      ],
    ])
  })

  it('a time that a row changed by hand does not have is null', () => {
    deepEqual(
      [timeJson(0), timeJson(NaN), timeJson(Infinity), timeJson(null)],
      ['1970-01-01T00:00:00.000Z', null, null, null],
    )
  })

  it('bars go from nothing to the largest, and something is never drawn as nothing', () => {
    equal(sparkline([0, 1, 500, 1_000]), '▁▂▅█')
    equal(sparkline([0, 0]), '▁▁')
    equal(sparkline([]), '')
  })

  it('a bar of progress never passes its end', () => {
    equal(progressText(5, 10, true, 10), '█████░░░░░ 5/10')
    equal(progressText(12, 10, false, 10), '██████████ 12/12 or more')
    equal(progressText(0, 0, true, 4), '████ 0/0')
  })

  it('a table is cut at the width of the terminal, and not in a file', () => {
    const rows = [{ name: 'a', text: 'x'.repeat(40) }]
    const columns = [
      { title: 'name', value: (row: (typeof rows)[0]) => row.name },
      { title: 'text', value: (row: (typeof rows)[0]) => row.text },
    ]
    equal(tableText(rows, columns, { paint: plain, width: 32 }), `name  text\na     ${'x'.repeat(25)}…`)
    equal(tableText(rows, columns, { paint: plain, width: undefined }), `name  text\na     ${'x'.repeat(40)}`)
    equal(cut('abc', 3), 'abc')
  })

  it('columns of a table that do not fit go on in a second line, and one without values is left out', () => {
    const rows = [
      { id: 'e-1', at: '02:00', tenant: '-', error: 'Error: no carrier today' },
      { id: 'e-2', at: '02:01', tenant: '-', error: '' },
    ]
    const columns = (['at', 'tenant', 'id', 'error'] as const).map((title) => ({
      title,
      value: (row: (typeof rows)[0]) => row[title],
      ...(title === 'tenant' && { isOptional: true as const }),
    }))
    equal(
      tableText(rows, columns, { paint: plain, width: 24 }),
      'at     id\n    error\n02:00  e-1\n    Error: no carrier t…\n02:01  e-2',
    )
  })

  it('a table that is too wide does without its minor columns, and keeps them elsewhere', () => {
    const columns = [
      { title: 'type', value: () => 'OrderPlaced' },
      { title: 'p50', value: () => '15 ms', isMinor: true as const },
      { title: 'pending', value: () => '7' },
    ]
    equal(tableText([1], columns, { paint: plain, width: 20 }), 'type         pending\nOrderPlaced  7')
    match(tableText([1], columns, { paint: plain, width: 27 }), /^type +p50 +pending\n/)
    match(tableText([1], columns, { paint: plain, width: undefined }), /^type +p50 +pending\n/)
  })

  it('texts go on in a new line between words, and colours do not count', () => {
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`
    equal(flowed([red('dead'), '3', 'done', '12'], '   ', 12), `${red('dead')}   3\ndone   12`)
    equal(flowed(['dead', '3'], '   '), 'dead   3')
    equal(
      wrapped('Until it is there, polls are slow.', '  ', 16),
      '  Until it is\n  there, polls\n  are slow.',
    )
    equal(wrapped('unbreakable word', '  ', 6), '  unbreakable\n  word')
    equal(cutLine(`a ${red('long line')} here`, 8), `a ${red('long …')}`)
    equal(cutLine(`a ${red('line')}`, 6), `a ${red('line')}`)
    equal(cutLine('abcdef', 3), 'ab…')
  })

  it('a payload keeps its numbers as they were written', () => {
    equal(
      laidOutJson('{"id":9007199254740993,"sum":[1.10,1e2]}'),
      '{\n  "id": 9007199254740993,\n  "sum": [\n    1.10,\n    1e2\n  ]\n}',
    )
  })

  it('characters that steer a terminal are shown as text', () => {
    equal(printable('a\u001b[2J\nb\r\u0007\u202ec\u009b'), 'a\\u001b[2J\\nb\\r\\u0007\\u202ec\\u009b')
  })

  it('only terminals have colours, unless the environment says otherwise', () => {
    const painted = (isTTY: boolean, env: Record<string, string>, wanted = true) =>
      paintFor({ isTTY }, env, wanted)('red', 'x') !== 'x'
    deepEqual(
      [
        painted(true, {}),
        painted(false, {}),
        painted(true, {}, false),
        painted(true, { NO_COLOR: '1' }),
        painted(true, { TERM: 'dumb' }),
        painted(false, { FORCE_COLOR: '1' }),
        painted(true, { FORCE_COLOR: '0' }),
      ],
      [true, false, false, false, false, true, false],
    )
  })
})
