/** A `postProcessResponse` of Knex as many projects have it, so that columns read like properties. */
export function inCamelCase(answer: any): any {
  if (Array.isArray(answer)) return answer.map(inCamelCase)
  if (answer?.rows !== undefined) return { ...answer, rows: inCamelCase(answer.rows) }
  if (typeof answer !== 'object' || answer === null) return answer
  const rename = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [rename(name), value]))
}
