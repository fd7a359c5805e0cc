/** Returns an object without the members that are undefined. */
export function given<Value extends object>(
  values: Value,
): { [Key in keyof Value]?: NonNullable<Value[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}
