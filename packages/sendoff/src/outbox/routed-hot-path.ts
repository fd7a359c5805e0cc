import type { EventEnvelope } from '../event/event-envelope.ts'
import type { Lease } from '../store/index.ts'
import type { ColdReason, HotPath, HotSlot, LeftToPoller } from '../write/hot-path.ts'

/** The hot paths of all destinations of a process. */
export class RoutedHotPath implements HotPath {
  readonly #paths: ReadonlyMap<string, HotPath>
  readonly #unnamed: HotPath

  /** `paths` has the hot paths by destination, and the empty one among them. */
  constructor(paths: ReadonlyMap<string, HotPath>) {
    this.#paths = paths
    this.#unnamed = paths.get('')!
  }

  get lease(): Lease {
    return this.#unnamed.lease
  }

  reserve(event: EventEnvelope, destination: string): HotSlot | ColdReason {
    const path = this.#paths.get(destination)
    if (path !== undefined) return path.reserve(event, destination)
    // Another process delivers to this destination.
    return event.isDelayed() ? 'delayed' : 'noListener'
  }

  leftToPoller(left: readonly LeftToPoller[], isAnnounced: boolean): void {
    const byPath = Map.groupBy(left, ({ destination }) => this.#paths.get(destination) ?? this.#unnamed)
    for (const [path, ofPath] of byPath) path.leftToPoller(ofPath, isAnnounced)
  }

  perhapsLater(): void {
    for (const path of this.#paths.values()) path.perhapsLater()
  }
}
