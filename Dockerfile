# Node version that the tests use.
ARG NODE_VERSION=24.21

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund
RUN npm run build
# Removes the binaries for macOS and Windows.
RUN rm -rf packages/onnxruntime/bin/*/darwin packages/onnxruntime/bin/*/win32

FROM node:${NODE_VERSION}-bookworm-slim AS dependencies
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund --omit=dev --workspace packages/server

FROM node:${NODE_VERSION}-bookworm-slim
# The database is /data/memoryd/memory.db, unless SERVICE_DATABASE_URL names another database.
ENV NODE_ENV=production XDG_DATA_HOME=/data SERVICE_HOST=0.0.0.0 SERVICE_PORT=8090
RUN install -d -o 1000 -g 1000 -m 0700 /data
WORKDIR /app
COPY LICENSE ./
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/packages/contract packages/contract
COPY --from=build /build/packages/client packages/client
COPY --from=build /build/packages/onnxruntime packages/onnxruntime
COPY --from=build /build/packages/minilm packages/minilm
COPY --from=build /build/packages/search packages/search
COPY --from=build /build/packages/core packages/core
COPY --from=build /build/packages/sqlite packages/sqlite
COPY --from=build /build/packages/postgres packages/postgres
COPY --from=build /build/packages/engine packages/engine
COPY --from=build /build/packages/server packages/server
# The user `node` of the base image, as a number, so that Kubernetes (`runAsNonRoot`) can verify that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8090
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SERVICE_PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/packages/server"]
