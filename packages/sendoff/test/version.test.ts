import { equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { sendoffVersion } from '../src/version.ts'

it('the version in the code is that of the package', () => {
  const file = new URL('../package.json', import.meta.url)
  equal((JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version, sendoffVersion)
})
