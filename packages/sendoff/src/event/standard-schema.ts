/**
 * The part of the Standard Schema interface that is used here. Schemas of zod, valibot, arktype
 * and many others have this shape.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    validate(value: unknown): SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type SchemaInput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input']
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output']

/** One line for people: every issue with the place it is about. Values are never repeated. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
      return place === '' ? message : `${place}: ${message}`
    })
    .join('; ')
}
