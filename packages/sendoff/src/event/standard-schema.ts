/**
 * The part of the Standard Schema interface that sendoff uses. Schemas of zod, valibot, arktype
 * and many other libraries have this shape.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    validate(value: unknown): SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** A valid value, or the issues of an invalid one. */
export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

/** One reason why a value does not fit its schema. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The type that a schema accepts. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input']
/** The type that a schema returns. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** Describes all issues in one line, each with its place in the payload. It never repeats values. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
      return place === '' ? message : `${place}: ${message}`
    })
    .join('; ')
}
