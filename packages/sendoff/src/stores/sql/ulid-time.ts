const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** What every ULID made at this time begins with, and none made before is above. */
export function ulidStart(time: number): string {
  const digits = Math.max(0, Math.floor(time)).toString(32).padStart(10, '0')
  return Array.from(digits, (digit) => alphabet[Number.parseInt(digit, 32)]).join('')
}

/** The time that a ULID, or the beginning of one, was made at. */
export function ulidTime(start: string): number {
  return Array.from(start.slice(0, 10)).reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}
