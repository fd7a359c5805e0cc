/** What a test is to use: little, or with `SENDOFF_TEST_SCALE=full` as much as proves something. */
export function scale<Size>({ small, full }: { readonly small: Size; readonly full: Size }): Size {
  return process.env['SENDOFF_TEST_SCALE'] === 'full' ? full : small
}

/** Another one each time, unless `SENDOFF_TEST_SEED` repeats the plan of a run. */
export function testSeed(): number {
  const given = process.env['SENDOFF_TEST_SEED']
  return given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)
}
