import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseExactly } from '../src/api/exact-json.ts'
import { hiddenText, readPaths, redactJson } from '../src/api/redact-json.ts'

const hide = (json: string, ...paths: string[]): string | undefined =>
  redactJson(json, readPaths(paths, 'payload'))

describe('redaction', () => {
  it('hides the values at its paths, and leaves every other byte as it is', () => {
    const json =
      '{ "id": 9007199254740993.10, "card": {"number": "4111", "name": "A\\"b"}, "list":[{"p":1},{"p":[2]}] }'
    equal(
      hide(json, 'payload.card.number', 'payload.list.*.p'),
      '{ "id": 9007199254740993.10, "card": {"number": "[redacted]", "name": "A\\"b"}, "list":[{"p":"[redacted]"},{"p":"[redacted]"}] }',
    )
    equal(hide(json, 'payload.list.1.p')?.includes('{"p":1},{"p":"[redacted]"}'), true)
    equal(hide(json, 'payload.nothing.here', 'headers.card'), json)
    equal(hide(json, 'payload'), '"[redacted]"')
  })

  it('hides a value whose name is written with escapes, and every one of several with the same name', () => {
    equal(hide('{"p\\u0069n":1}', 'payload.pin'), '{"p\\u0069n":"[redacted]"}')
    equal(hide('{"pin":1,"pin":2}', 'payload.pin'), '{"pin":"[redacted]","pin":"[redacted]"}')
    equal(hide('{"a\\\\":"\\\\","pin":1}', 'payload.pin'), '{"a\\\\":"\\\\","pin":"[redacted]"}')
  })

  it('shows nothing of a text that is not JSON', () => {
    equal(hide('pin=1234', 'payload.pin'), undefined)
    equal(hide('{"pin":1', 'payload.pin'), undefined)
    equal(hide(`${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'payload.pin'), undefined)
  })

  it('does the same as redacting the parsed value, for any JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(2), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), undefined, indent)
        const wrapped = `{"secret":${text},"open":${text},"list":[${text}]}`
        const value = JSON.parse(text) as unknown
        deepEqual(JSON.parse(hide(wrapped, 'payload.secret', 'payload.list.*')!), {
          secret: hiddenText,
          open: value,
          list: [hiddenText],
        })
      }),
      { numRuns: 300 },
    )
  })
})

describe('exact JSON', () => {
  it('keeps every number as it was written', () => {
    for (const json of [
      '9007199254740993',
      '{"a":[0.1,1e400,-12345678901234567890.123],"b":"1"}',
      '1.0000000000000001',
      '[]',
    ]) {
      equal(JSON.stringify(parseExactly(json)), json)
    }
    equal(typeof parseExactly('42'), 'number')
  })
})
