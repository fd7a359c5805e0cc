import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findTestFiles } from '../runner/find-test-files.ts'
import { neededServices } from '../services/launcher/needed-services.ts'
import { always, belongsTo, columnParts, filesOfMariadb, left } from './mysql-column.ts'

const root = process.cwd()
const parts = Object.entries(columnParts)

describe('the column of MySQL', () => {
  it('has every test file of MariaDB once, but for those with a reason', () => {
    const files = filesOfMariadb(root).filter((file) => left[file] === undefined)
    const placed = files.map((file) => [
      file,
      parts.filter(([, part]) => belongsTo(part, file)).map(([name]) => name).length,
    ])
    deepEqual(
      placed.filter(([, count]) => count !== 1),
      [],
    )
  })

  it('names no file that does not exist', () => {
    const files = new Set(filesOfMariadb(root))
    deepEqual(
      [...Object.keys(left), ...always].filter((file) => !files.has(file)),
      [],
    )
  })

  it('has a test file for each part, with the services of the part', () => {
    const found = findTestFiles(root, { words: ['test/mysql-column/'], unitOnly: false })
      .filter((file) => neededServices(file).length > 0)
      .map((file) => [/([^/.]+)\.[^/]*$/.exec(file)![1], neededServices(file)])
    deepEqual(
      new Map(found as [string, readonly string[]][]),
      new Map(parts.map(([name, { others }]) => [name, ['mysql', ...others]])),
    )
  })
})
