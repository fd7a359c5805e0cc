import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serverOf } from '../../../src/stores/mysql/server-version.ts'

// Versions as these servers give them.
const versions: Readonly<Record<string, readonly [isTidb: boolean, skipsLocked: boolean]>> = {
  '9.7.4-2': [false, true],
  '8.4.3': [false, true],
  '8.0.36-28.1': [false, true],
  '8.0.1-dmr': [false, true],
  '8.0.0-dmr': [false, false],
  '5.7.44-log': [false, false],
  '5.6.51': [false, false],
  '10.11.14-MariaDB-0+deb12u2': [false, true],
  '5.5.5-10.6.0-MariaDB': [false, true],
  '10.5.29-MariaDB': [false, false],
  '5.5.5-10.3.39-MariaDB-log': [false, false],
  '5.5.68-MariaDB': [false, false],
  '12.1.2-MariaDB': [false, true],
  '8.0.11-TiDB-v8.5.0': [true, false],
  '5.7.25-TiDB-v6.5.1-serverless': [true, false],
  '8.0.mysql_aurora.3.08.0': [false, true],
  'some fork': [false, true],
}

describe('the version of a server', () => {
  for (const [version, [isTidb, skipsLocked]] of Object.entries(versions)) {
    it(`${version} ${skipsLocked ? 'skips' : 'does not skip'} locked rows`, () => {
      deepEqual(serverOf(version), { version, isTidb, skipsLocked })
    })
  }
})
