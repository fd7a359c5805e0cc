import { type ImportRule, sendoffZones } from './dependency-rule.ts'

/** What the checks need to know about a package of the project. */
export interface PackageRule extends ImportRule {
  /** The most bytes of all exports of its front door in a bundle: without comments, not minified, compressed. */
  readonly bundleLimit: number
  /** Whether it is packed with the pages of the project, instead of those in its own folder. */
  readonly hasProjectPages?: true
}

/** The packages of the project, by name. A package without a rule fails the checks. */
export const packageRules: Readonly<Record<string, PackageRule>> = {
  sendoff: { zones: sendoffZones, imports: [], bundleLimit: 65_000, hasProjectPages: true },
}
