import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the dashboard and the alert rules. */
export const monitoringFolder = join(import.meta.dirname, '../../docs/monitoring')

/** Returns the alert rules with seconds instead of minutes. */
export function quickRules(): string {
  return (
    readFileSync(join(monitoringFolder, 'prometheus-alerts.yml'), 'utf8')
      .replaceAll(/for: \d+m/g, 'for: 1s')
      // A process that was frozen for a few seconds has to have a value from before, as in minutes.
      .replaceAll('[10m]', '[9s]')
      .replaceAll(/\[\d+m\]/g, '[4s]')
      .replaceAll(/_seconds\) > \d+/g, '_seconds) > 2')
  )
}
