# A relay of Sendoff: docker build -f relay.Dockerfile -t sendoff-relay .
# Choose the drivers of your database and broker: --build-arg DRIVERS='mysql2 rabbitmq-client'
FROM node:24-slim
ARG DRIVERS="pg @platformatic/kafka"
WORKDIR /relay
RUN npm init -y > /dev/null && npm install --omit=dev sendoff @sendoff/cli $DRIVERS && npm cache clean --force
USER node
EXPOSE 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9464/healthz').then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the first process, so that it gets SIGTERM, and drains.
ENTRYPOINT ["node", "node_modules/@sendoff/cli/dist/bin.cjs"]
CMD ["relay", "--json", "--host", "0.0.0.0"]
