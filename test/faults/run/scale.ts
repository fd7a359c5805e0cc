/** Returns the size of a test: small, or with `SENDOFF_TEST_SCALE=full` large enough to prove something. */
export function scale<Size>({ small, full }: { readonly small: Size; readonly full: Size }): Size {
  return process.env['SENDOFF_TEST_SCALE'] === 'full' ? full : small
}

/** Returns a new seed each time, unless `SENDOFF_TEST_SEED` repeats the plan of a run. */
export function testSeed(): number {
  const given = process.env['SENDOFF_TEST_SEED']
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
}
