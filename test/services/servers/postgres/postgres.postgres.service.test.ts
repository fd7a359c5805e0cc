import { describePostgresService } from './describe-postgres-service.ts'
import { debianPostgresServer, postgres } from './postgres.ts'

await describePostgresService({
  service: postgres,
  version: /^(1[5-9]|[2-9]\d)\./,
  startServer: debianPostgresServer,
})
