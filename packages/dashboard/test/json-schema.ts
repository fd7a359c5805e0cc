/** The part of JSON Schema that the description of the API uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly description?: string
}

const known = new Set(['$ref', 'type', 'enum', 'properties', 'required', 'items', 'anyOf', 'description'])

/**
 * Returns where a value differs from its schema; empty if it does not. Stricter than the standard: an object
 * has no properties that its schema does not name, unless the schema names none.
 */
export function differencesOf(
  schema: Schema,
  value: unknown,
  schemas: Readonly<Record<string, Schema>>,
  path = '$',
): readonly string[] {
  const strange = Object.keys(schema).filter((keyword) => !known.has(keyword))
  if (strange.length > 0) throw new Error(`No check for ${strange.join(', ')} at ${path}.`)
  if (schema.$ref !== undefined) {
    return differencesOf(schemas[schema.$ref.split('/').at(-1)!]!, value, schemas, path)
  }
  if (schema.anyOf !== undefined) {
    const each = schema.anyOf.map((option) => differencesOf(option, value, schemas, path))
    return each.find((differences) => differences.length === 0) ?? each[0]!
  }
  const types = [schema.type ?? []].flat()
  const actual = kindOf(value)
  if (!types.includes(actual) && !(actual === 'integer' && types.includes('number'))) {
    return [`${path} is ${actual}, and not ${types.join(' or ')}`]
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`${path} is ${String(value)}`]
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined
      ? []
      : value.flatMap((each, index) => differencesOf(items, each, schemas, `${path}[${index}]`))
  }
  const { properties, required = [] } = schema
  if (actual !== 'object' || properties === undefined) return []
  const object = value as Readonly<Record<string, unknown>>
  return [
    ...required.filter((name) => !(name in object)).map((name) => `${path}.${name} is missing`),
    ...Object.entries(object).flatMap(([name, each]) =>
      properties[name] === undefined
        ? [`${path}.${name} is not described`]
        : differencesOf(properties[name], each, schemas, `${path}.${name}`),
    ),
  ]
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}
