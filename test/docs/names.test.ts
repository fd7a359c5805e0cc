import { deepEqual, equal } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, it } from 'node:test'
import { findingCodes } from 'sendoff/store'
import { metricCatalogue, prometheusName } from '../../packages/sendoff/src/observe/metric-catalogue.ts'
import { projectRoot, readPackages } from '../workspace.ts'
import { errorCodes } from './error-codes.ts'

const pageText = (page: string) => readFileSync(join(projectRoot, page), 'utf8')

describe('names in pages', () => {
  const pages = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md'], { cwd: projectRoot })
  const namesLike = (pattern: RegExp) => [
    ...new Set(pages.flatMap((page) => pageText(page).match(pattern) ?? [])),
  ]

  it('of errors and findings are codes that exist, beside those of the module for NestJS', () => {
    const ofNest = /^OUTBOX_(?:METRICS_REGISTRY|MODE|DISPATCHER_\w+|CLAIM_LOCKING_\w+)$/
    const known = new Set<string>([...errorCodes(), ...findingCodes])
    const named = namesLike(/\bOUTBOX_[A-Z_]+[A-Z]\b/g)
    equal(named.length > 50, true)
    deepEqual(
      named.filter((name) => !known.has(name) && !ofNest.test(name)),
      [],
    )
  })

  it('of metrics are metrics that exist', () => {
    const known = metricCatalogue.map((each) => prometheusName(each, 'outbox'))
    const named = namesLike(/\boutbox_(?!event|bytes\b)[a-z_]+[a-z]\b/g)
    equal(named.length >= known.length, true)
    deepEqual(
      named.filter((name) => !known.includes(name)),
      [],
    )
  })

  it('of peers have the versions that the benchmarks run', () => {
    const page = pageText('docs/comparison.md')
    for (const [name, peer] of [
      ['pg-boss', 'pg-boss'],
      ['graphile-worker', 'graphile-worker'],
      ['BullMQ', 'bullmq'],
      ['pg-transactional-outbox', 'pg-transactional-outbox'],
    ]) {
      const { version } = JSON.parse(pageText(`node_modules/${peer}/package.json`)) as { version: string }
      const told = new RegExp(`${name} (\\d[\\d.]*\\d)`).exec(page)?.[1]
      equal(`${version}.`.startsWith(`${told}.`), true, `${name} is ${version}, and the page says ${told}`)
    }
  })

  it('of packages and subpaths are exactly those that exist', () => {
    const exported = readPackages().flatMap(({ name, folder }) => {
      const manifest = JSON.parse(pageText(`${folder}/package.json`)) as { exports: object }
      return Object.keys(manifest.exports)
        .filter((subpath) => subpath !== './package.json')
        .map((subpath) => posix.join(name, subpath))
    })
    const named = namesLike(/(?<=['`])(?:sendoff|@sendoff\/[a-z]+)(?:\/[a-z][a-z/-]*)?(?=['`])/g)
    deepEqual(named.toSorted(), exported.toSorted())
  })
})

describe('the codes of errors', () => {
  it('are each used by the code', () => {
    const source = globSync('packages/*/src/**/*.ts', { cwd: projectRoot }).map(pageText).join('')
    // Once in the union, and once where it is thrown.
    deepEqual(
      errorCodes().filter((code) => source.split(`'${code}'`).length < 3),
      [],
    )
  })
})
