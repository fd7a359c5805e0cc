import { deepEqual, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import ts from 'typescript'

const source = join(import.meta.dirname, '../src')

/** How many names `sendoff` exports at most: few enough to read. */
const mostNames = 70

/** Components of the specification, by the subpath that they come from. */
const components = {
  index: [
    'AggregateType',
    'BoundEventListener',
    'DispatchResult',
    'EventEnvelope',
    'EventInterceptor',
    'EventListener',
    'EventType',
    'JsonCodec',
    'ListenerRegistry',
    'MetricsExporter',
    'Outbox',
    'PayloadParseError',
    'RecoverableError',
    'RetryAfterError',
    'RetryPolicy',
    'UnrecoverableError',
    'UnroutableEventError',
    'WriterHook',
  ],
  parts: [
    'DeadEventManager',
    'InFlightTracker',
    'OutboxBackend',
    'OutboxDispatcher',
    'OutboxPoller',
    'OutboxPurgeScheduler',
    'OutboxWriter',
    'TxContext',
  ],
  'store/index': ['OutboxStore'],
}

describe('the front door', () => {
  let exported: ReadonlyMap<string, ReadonlyMap<string, ts.Symbol>>
  before(() => {
    const files = Object.keys(components).map((name) => join(source, `${name}.ts`))
    const program = ts.createProgram(files, {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
    })
    const checker = program.getTypeChecker()
    exported = new Map(
      Object.keys(components).map((name, index) => {
        const module = checker.getSymbolAtLocation(program.getSourceFile(files[index]!)!)!
        const symbols = checker.getExportsOfModule(module)
        return [name, new Map(symbols.map((symbol) => [symbol.name, originOf(symbol, checker)]))]
      }),
    )
  })

  it('is small', (test) => {
    const { size } = exported.get('index')!
    test.diagnostic(`sendoff exports ${size} names`)
    ok(size <= mostNames, `sendoff exports ${size} names; what few users touch belongs to sendoff/parts`)
  })

  it('and the parts export no name twice', () => {
    const parts = exported.get('parts')!
    deepEqual(
      [...exported.get('index')!.keys()].filter((name) => parts.has(name)),
      [],
    )
  })

  it('and the contract of stores mean the same where they have the same name', () => {
    const store = exported.get('store/index')!
    for (const [name, symbol] of exported.get('index')!) {
      if (store.has(name)) ok(store.get(name) === symbol, name)
    }
  })

  it('and the other subpaths have every component of the specification', () => {
    for (const [subpath, names] of Object.entries(components)) {
      deepEqual(
        names.filter((name) => !exported.get(subpath)!.has(name)),
        [],
      )
    }
  })
})

function originOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}
