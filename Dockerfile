# docker build --target gateway -t amqp-gateway .
# docker build --target gateway --build-arg EXTRAS=gssapi -t amqp-gateway .     (adds logins by Kerberos)
# docker build --target accounting -t amqp-gateway-accounting .     (adds Spark and Java, for the reconciliation)
#
# All steps are in image/build, which `.ci/run image` runs in a minimal Debian without a container engine.
# `python -m release pin` gives the base its digest; what comes from PyPI has checksums.
# The source is mounted for the step that needs it (BuildKit, buildah): it is in no layer.
FROM debian:bookworm-slim AS accounting-build
RUN --mount=type=bind,target=/src,rw /src/image/build /src accounting

FROM accounting-build AS accounting
ENV XDG_CACHE_HOME=/opt/amqp-gateway/cache
USER 10010:10010
WORKDIR /var/lib/amqp-gateway
ENTRYPOINT ["amqp-gateway"]
CMD ["reconcile", "--help"]

FROM debian:bookworm-slim AS gateway-build
ARG EXTRAS=""
RUN --mount=type=bind,target=/src,rw /src/image/build /src gateway $EXTRAS

FROM gateway-build AS gateway
USER 10010:10010
WORKDIR /var/lib/amqp-gateway
EXPOSE 5672 5671 9672
# SIGTERM drains: give it more than `drain_timeout` and the 2 s that peers have to answer a close.
STOPSIGNAL SIGTERM
ENTRYPOINT ["amqp-gateway"]
CMD ["serve", "--config", "/etc/amqp-gateway/gateway.yaml"]
