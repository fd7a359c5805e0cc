import { OutboxError } from '../errors.ts'
import { kindOf } from '../options.ts'

/** The header that carries the version of a payload. */
export const versionHeader = 'event-version'

/** Makes a payload of one version from a payload of the version before. */
export type UpgradeStep = (old: never) => unknown

/** The version of an event's payload, and the steps to it from every older version. */
export interface EventVersions {
  /** The newest version that this process knows; undefined if the definition names none, which means 1. */
  readonly version: number | undefined
  /** The step from each older version to the next one. */
  readonly upgrade: Readonly<Record<number, UpgradeStep>>
}

/**
 * The options `version` and `upgrade` of an event with a schema. Each step gets what the step before returns.
 * The first step gets `unknown`, or the type that its parameter names. The last step returns the schema's
 * input. From version 10 on, each step names the type of its parameter.
 */
export type SchemaVersions<Version extends number, Input, V2, V3, V4, V5, V6, V7, V8, V9> = {
  /** The version of the payload, a whole number. A row without a version has version 1. */
  readonly version?: Version
  /** By version: makes a payload of the next version. Every version below `version` needs a step. */
  readonly upgrade?: {
    readonly 1?: Step<unknown, V2 & NewestIf<Version, 2, Input>>
    readonly 2?: (old: V2) => V3 & NewestIf<Version, 3, Input>
    readonly 3?: (old: V3) => V4 & NewestIf<Version, 4, Input>
    readonly 4?: (old: V4) => V5 & NewestIf<Version, 5, Input>
    readonly 5?: (old: V5) => V6 & NewestIf<Version, 6, Input>
    readonly 6?: (old: V6) => V7 & NewestIf<Version, 7, Input>
    readonly 7?: (old: V7) => V8 & NewestIf<Version, 8, Input>
    readonly 8?: (old: V8) => V9 & NewestIf<Version, 9, Input>
    readonly [from: number]: UpgradeStep | undefined
  }
} & StepsOf<Version>

/**
 * The options `version` and `upgrade` of an event that a TypeScript type defines. Each step gets `unknown`,
 * or the type that its parameter names. The last step returns the payload.
 */
export type TypedVersions<Payload> = VersionsUpTo<VersionBelow<33>, Payload>

// A method's parameter may be narrower than declared. That lets a step name the type of what was stored.
type Step<Old, Next> = { step(old: Old): Next }['step']

type NewestIf<Version, Number, Input> = Version extends Number ? Input : unknown

/** Every version from 1 to the one before `Version`. */
type VersionBelow<
  Version extends number,
  Counted extends readonly unknown[] = [unknown],
  Found = never,
> = Counted['length'] extends Version
  ? Found
  : VersionBelow<Version, [...Counted, unknown], Found | Counted['length']>

type StepsOf<Version extends number> = number extends Version
  ? unknown
  : Version extends 1
    ? unknown
    : { readonly upgrade: Readonly<Record<VersionBelow<Version> & number, unknown>> }

type VersionsUpTo<Version, Payload> = Version extends 1
  ? { readonly version?: 1 | undefined; readonly upgrade?: Readonly<Record<never, never>> }
  : Version extends number
    ? {
        readonly version: Version
        readonly upgrade: {
          readonly [From in VersionBelow<Version> & number]: Step<
            unknown,
            Exclude<VersionBelow<Version>, From> extends VersionBelow<From> ? Payload : unknown
          >
        }
      }
    : never

/** Throws `OUTBOX_INVALID_OPTION` if a version below `version` has no step, or another one has. */
export function checkUpgrade(name: string, version: number | undefined, upgrade: unknown = {}): void {
  if (typeof upgrade !== 'object' || upgrade === null) {
    throw invalidUpgrade(name, `must be an object with a step for each older version, not ${kindOf(upgrade)}`)
  }
  const newest = version ?? 1
  const isNoStep = Object.keys(upgrade).find((from) => !isVersion(from) || Number(from) >= newest)
  if (isNoStep !== undefined) {
    throw invalidUpgrade(
      name,
      `has a step from "${isNoStep}", but its steps are from the versions below ${newest}. ` +
        'Raise "version" to what the last step makes, or remove the step',
    )
  }
  for (let from = 1; from < newest; from += 1) {
    const step = (upgrade as Readonly<Record<number, unknown>>)[from]
    if (typeof step !== 'function') {
      throw invalidUpgrade(
        name,
        `needs a function for version ${from}, which makes a payload of version ${from + 1} from it, not ${kindOf(step)}`,
      )
    }
  }
}

/**
 * The version of a payload by the headers of its event: 1 if they name none, and NaN if what they name is not
 * a version.
 */
export function versionOf(headers: Readonly<Record<string, string>>): number {
  const version = headers[versionHeader]
  if (version === undefined) return 1
  return isVersion(version) ? Number(version) : NaN
}

/** Whether a text is a whole number of at least 1. */
export function isVersion(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text)
}

function invalidUpgrade(name: string, problem: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', `Option "upgrade" of event "${name}" ${problem}.`)
}
