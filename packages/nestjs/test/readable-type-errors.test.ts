import { deepEqual, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import ts from 'typescript'

const isFull = process.env['SENDOFF_TEST_SCALE'] === 'full'
const root = join(import.meta.dirname, '../../..')

const imports = `
  import { OutboxFallback, OutboxListener, OutboxModule, OutboxRetryable } from '@sendoff/nestjs'
  import { defineEvent, type EventEnvelope, type EventWriter, type FinalFailure } from 'sendoff'
  import { memoryStore } from 'sendoff/memory'
  const OrderPlaced = defineEvent<{ orderId: string; total: number }>('OrderPlaced')
  const store = memoryStore()
`

/** Mistakes, each with the words that have to be in the compiler's only error about it. */
const mistakes: Readonly<Record<string, readonly [code: string, words: string]>> = {
  'a listener for another payload': [
    `export class A { @OutboxListener(OrderPlaced) ship(_: EventEnvelope<{ total: string }>) {} }`,
    `Type 'number' is not assignable to type 'string'.`,
  ],
  'a class for another payload': [
    `@OutboxListener(OrderPlaced) export class A { onEvent(_: EventEnvelope<{ total: string }>) {} }`,
    `Type 'number' is not assignable to type 'string'.`,
  ],
  'a fallback for another payload': [
    `export class A { @OutboxFallback(OrderPlaced) sorry(_: EventEnvelope<{ total: string }>, __: FinalFailure) {} }`,
    `Type 'number' is not assignable to type 'string'.`,
  ],
  'an unknown event': [
    `export class A { @OutboxListener(OrderPlacd) ship() {} }`,
    `Did you mean 'OrderPlaced'?`,
  ],
  'an unknown option of a listener': [
    `export class A { @OutboxListener(OrderPlaced, { timeout: 1 }) ship() {} }`,
    `Did you mean to write 'timeoutMs'?`,
  ],
  'an unknown name in an address': [
    `export class A { @OutboxListener({ eventType: 'A', aggregate: 'Order' }) ship() {} }`,
    `'aggregate' does not exist in type 'OutboxListenerAddress'.`,
  ],
  'an unknown option of a policy': [
    `export class A { @OutboxRetryable({ attempts: 3 }) ship() {} }`,
    `'attempts' does not exist in type`,
  ],
  'a payload that lacks something': [
    `export const write = (events: EventWriter) => events.write(OrderPlaced, { orderId: 'o-1' })`,
    `Property 'total' is missing in type '{ orderId: string; }'`,
  ],
  'an unknown mode': [
    `export const a = OutboxModule.forRoot({ mode: 'CLUSTER', store })`,
    `Type '"CLUSTER"' is not assignable to type`,
  ],
  'an unknown option': [
    `export const a = OutboxModule.forRoot({ store, workers: 4 })`,
    `'workers' does not exist in type 'OutboxModuleOptions`,
  ],
  'an option of another type': [
    `export const a = OutboxModule.forRootAsync({ useFactory: () => ({ store, workerCount: 'many' }) })`,
    `Type 'string' is not assignable to type 'number'.`,
  ],
}

describe('the compiler explains', { skip: !isFull && 'it compiles for long: npm run test:full' }, () => {
  const files = new Map(
    Object.entries(mistakes).map(([name, [code]], index) => [
      join(import.meta.dirname, `mistake-${index}.ts`),
      { name, code: `${imports}\n${code}` },
    ]),
  )
  const errors = errorsIn(new Map([...files].map(([path, { code }]) => [path, code])))

  for (const [path, { name }] of files) {
    it(name, () => {
      const found = errors.get(path) ?? []
      deepEqual(found.length, 1, found.join('\n'))
      const [, words] = mistakes[name]!
      ok(found[0]!.includes(words), found[0])
    })
  }
})

/** Compiles files that exist only here, as strictly as the project. Returns the errors of each. */
function errorsIn(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const config = join(root, 'tsconfig.json')
  const { config: json } = ts.readConfigFile(config, (path) => ts.sys.readFile(path)) as { config: object }
  const { options } = ts.parseJsonConfigFileContent(
    { ...json, files: [], include: [] },
    ts.sys,
    root,
    {},
    config,
  )
  const onDisk = ts.createCompilerHost(options)
  const host: ts.CompilerHost = {
    ...onDisk,
    fileExists: (path) => files.has(path) || onDisk.fileExists(path),
    readFile: (path) => files.get(path) ?? onDisk.readFile(path),
    getSourceFile(path, target, ...rest) {
      const text = files.get(path)
      if (text === undefined) return onDisk.getSourceFile(path, target, ...rest)
      return ts.createSourceFile(path, text, target)
    },
  }
  const program = ts.createProgram([...files.keys()], { ...options, noUnusedLocals: false }, host)
  return new Map(
    [...files.keys()].map((path) => [
      path,
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(path))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ]),
  )
}
