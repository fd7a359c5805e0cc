import { describe, it } from 'node:test'
import { mariadb } from '../services/mariadb.ts'
import { scale } from './scale.ts'
import { soundClosings, soundRenewals, soundSharing, soundSilence } from './sound-answers.ts'

// Where the address of one is given, there need not be another that can be harmed.
const skip = !(await mariadb.find()) && 'MariaDB itself is not on this machine'

describe('on MariaDB, with answers that come late or never', { skip }, () => {
  it('every promise is kept', (test) => soundSilence(test, 'mariadb'))

  // Only at full size: the engine does the rest, and is tried on others.
  const full = { skip: scale({ small: 'only at full size', full: false }) }

  it('workers share slow work, and take nothing that they have no listener for', full, (test) =>
    soundSharing(test, 'mariadb'),
  )

  it('another process goes on at once where one is asked to end', full, (test) =>
    soundClosings(test, 'mariadb', 'singleNode'),
  )

  it('one renewal without an answer costs no lock', full, (test) =>
    soundRenewals(test, 'mariadb', 'singleWriter'),
  )
})
