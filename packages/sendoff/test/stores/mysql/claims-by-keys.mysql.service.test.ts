import { runClaimsByKeys } from './run-claims-by-keys.ts'

runClaimsByKeys('MySQL', 'MYSQL_URL')
