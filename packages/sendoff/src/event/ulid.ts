import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const timeLength = 10
const randomLength = 16

/**
 * Returns a function that makes 26-character ids. They sort in the order in which this process made them.
 *
 * The first ten characters are milliseconds, so that new rows land at the end of an index. Within one
 * millisecond, or after the clock is set back, each id raises the random part by one.
 */
export function monotonicUlids(now: () => number = Date.now): () => string {
  const random = new Uint8Array(randomLength)
  let lastTime = -1
  let timePart = ''

  return () => {
    const time = now()
    if (time > lastTime) {
      lastTime = time
      timePart = encodeTime(time)
      refill(random)
    } else if (!countUp(random)) {
      timePart = encodeTime(++lastTime)
      refill(random)
    }

    let id = timePart
    for (let place = 0; place < randomLength; place++) id += alphabet[random[place]!]
    return id
  }
}

function encodeTime(time: number): string {
  let text = ''
  let rest = time
  for (let place = 0; place < timeLength; place++) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}

// Many random bytes cost as much as a few, so we fetch a pool of them.
const pool = new Uint8Array(256 * randomLength)
let used = pool.length

function refill(digits: Uint8Array): void {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  for (let place = 0; place < randomLength; place++) digits[place] = pool[used++]! & 31
}

/** Adds one. Returns false if there is no higher value, because all digits are at their highest. */
function countUp(digits: Uint8Array): boolean {
  for (let place = digits.length - 1; place >= 0; place--) {
    if (digits[place]! < 31) {
      digits[place]!++
      return true
    }
    digits[place] = 0
  }
  return false
}
