/** The parameters of a statement may have this many characters on every server. */
export const alwaysTaken = 16_384

// Longer statements are no faster.
const mostAnywhere = 2_097_152

/**
 * Returns how many characters the parameters of one statement may have on a server that takes `packetBytes`
 * at once. A character needs up to three bytes, or two with a backslash. The rest is for the statement
 * itself.
 */
export function mostCharactersFor(packetBytes: number): number {
  return Math.min(mostAnywhere, Math.max(alwaysTaken, Math.floor(packetBytes / 4)))
}
