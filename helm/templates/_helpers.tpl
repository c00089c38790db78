{{- define "amqp-gateway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "amqp-gateway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "amqp-gateway.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "amqp-gateway.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ include "amqp-gateway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "amqp-gateway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "amqp-gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of an object: a list of the root, its name, more labels and more annotations. */}}
{{- define "amqp-gateway.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
labels:
  {{- include "amqp-gateway.labels" $root | nindent 2 }}
  {{- with index . 2 }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with merge (dict) (index . 3) $root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The labels of the gateway's pod: none that another version of the chart would change. */}}
{{- define "amqp-gateway.podLabels" -}}
{{ include "amqp-gateway.selectorLabels" . }}
{{ include "amqp-gateway.volumeLabel" . }}
{{- with merge (dict) .Values.podLabels .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of all pods that mount the gateway's volume: they are on one node. Of several gateways each has
its own: jobs have the label that Kubernetes gives the gateway's pod of their `ordinal`. */}}
{{- define "amqp-gateway.volumeLabel" -}}
{{- if hasKey . "ordinal" -}}
statefulset.kubernetes.io/pod-name: {{ include "amqp-gateway.fullname" . }}-{{ .ordinal }}
{{- else -}}
amqp-gateway/volume: {{ include "amqp-gateway.fullname" . }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "data-%s-%d" (include "amqp-gateway.fullname" .) (.ordinal | default 0 | int)) }}
{{- end }}

{{/* One document for each gateway's volume, or one that needs none: a list of the root, the name of
its template, and whether it mounts the volume. */}}
{{- define "amqp-gateway.forEachVolume" -}}
{{- $root := index . 0 }}
{{- $template := index . 1 }}
{{- $own := dict }}
{{- range $key := list "Values" "Release" "Chart" "Capabilities" "Template" }}
{{- $_ := set $own $key (get $root $key) }}
{{- end }}
{{- if and (index . 2) (gt (int $root.Values.replicas) 1) }}
{{- range $ordinal := until (int $root.Values.replicas) }}
---
{{ include $template (merge (dict "ordinal" $ordinal) $own) }}
{{- end }}
{{- else }}
{{ include $template $root }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.tlsSecret" -}}
{{- if .Values.tls.existingSecret }}
{{- .Values.tls.existingSecret }}
{{- else if .Values.tls.certificate.create }}
{{- printf "%s-tls" (include "amqp-gateway.fullname" .) }}
{{- end }}
{{- end }}

{{/* Whether the plain port is open. */}}
{{- define "amqp-gateway.plain" -}}
{{- if or .Values.tls.keepPlain (not (include "amqp-gateway.tlsSecret" .)) }}true{{ end }}
{{- end }}

{{/* The Secret of the upstream's TLS: a list of the root and its name. */}}
{{- define "amqp-gateway.upstreamSecret" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $tls := index $root.Values.upstreams.tls $name }}
{{- if $tls.existingSecret }}
{{- $tls.existingSecret }}
{{- else if dig "certificate" "create" false $tls }}
{{- printf "%s-to-%s-tls" (include "amqp-gateway.fullname" $root) $name }}
{{- else }}
{{- fail (printf "upstreams.tls.%s needs existingSecret or certificate.create" $name) }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "amqp-gateway.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The configuration file: what the chart mounts decides, over what the values say. */}}
{{- define "amqp-gateway.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if not (hasKey $config "reload_interval") }}
{{- $_ := set $config "reload_interval" "10s" }}
{{- end }}
{{- $fixed := dict
  "listen" (dict)
  "admin" "0.0.0.0:9672"
  "data_directory" "/var/lib/amqp-gateway/data"
  "former_data_directory" "/var/lib/amqp-gateway"
  "anonymous" .Values.anonymous }}
{{- if .Values.users.existingSecret }}
{{- $_ := set $fixed "users_file" (printf "/etc/amqp-gateway/users/%s" .Values.users.key) }}
{{- end }}
{{- if .Values.access.existingConfigMap }}
{{- $key := ternary "qpidd_file" "file" .Values.access.qpidd }}
{{- $file := printf "/etc/amqp-gateway/access/%s" .Values.access.key }}
{{- $_ := set $fixed "access" (dict $key $file) }}
{{- end }}
{{- if .Values.kerberos.existingSecret }}
{{- $_ := required "kerberos needs config.gssapi.realm" (dig "gssapi" "realm" "" .Values.config) }}
{{- $_ := set $fixed "gssapi" (dict "keytab" (printf "/etc/amqp-gateway/kerberos/%s" .Values.kerberos.key)) }}
{{- end }}
{{- if .Values.admin.existingSecret }}
{{- $_ := set $fixed "admin_token_file" (printf "/etc/amqp-gateway/admin/%s" .Values.admin.key) }}
{{- end }}
{{- if and .Values.admin.existingSecret .Values.admin.metricsKey }}
{{- $_ := set $fixed "metrics_token_file" (printf "/etc/amqp-gateway/admin/%s" .Values.admin.metricsKey) }}
{{- end }}
{{- $audit := dict }}
{{- if .Values.audit.signingKey.existingSecret }}
{{- $_ := set $audit "signing_key_file" (printf "/etc/amqp-gateway/signing/%s" .Values.audit.signingKey.key) }}
{{- end }}
{{- if .Values.audit.books.enabled }}
{{- $_ := set $audit "books" "/var/lib/amqp-gateway/books" }}
{{- if .Values.audit.books.existingConfigMap }}
{{- $_ := set $audit "book_keys_file" (printf "/etc/amqp-gateway/books/%s" .Values.audit.books.key) }}
{{- end }}
{{- end }}
{{- if $audit }}
{{- $_ := set $fixed "audit" $audit }}
{{- end }}
{{- if include "amqp-gateway.plain" . }}
{{- $_ := set $fixed.listen "amqp" "0.0.0.0:5672" }}
{{- end }}
{{- if include "amqp-gateway.tlsSecret" . }}
{{- $_ := set $fixed.listen "amqps" "0.0.0.0:5671" }}
{{- $tls := dict "certificate" "/etc/amqp-gateway/tls/tls.crt" "key" "/etc/amqp-gateway/tls/tls.key" }}
{{- if .Values.tls.verifyClients }}
{{- $_ := set $tls "client_ca" "/etc/amqp-gateway/tls/ca.crt" }}
{{- end }}
{{- $_ := set $fixed "tls" $tls }}
{{- end }}
{{- range $name, $tls := .Values.upstreams.tls }}
{{- $_ := required (printf "upstreams.tls.%s is of no upstream in config.upstreams" $name) (dig "upstreams" $name "" $.Values.config) }}
{{- $directory := printf "/etc/amqp-gateway/upstream-tls/%s" $name }}
{{- $made := dict }}
{{- if dig "ca" true $tls }}
{{- $_ := set $made "ca" (printf "%s/ca.crt" $directory) }}
{{- end }}
{{- if dig "clientCertificate" true $tls }}
{{- $_ := set $made "certificate" (printf "%s/tls.crt" $directory) }}
{{- $_ := set $made "key" (printf "%s/tls.key" $directory) }}
{{- end }}
{{- with dig "serverName" "" $tls }}
{{- $_ := set $made "server_name" . }}
{{- end }}
{{- $_ := set $fixed "upstreams" (mustMergeOverwrite (get $fixed "upstreams" | default dict) (dict $name (dict "tls" $made))) }}
{{- end }}
{{- $made := mustMergeOverwrite $config $fixed }}
{{- if not (include "amqp-gateway.plain" .) }}
{{- $_ := set $made.listen "amqp" nil }}
{{- end }}
{{- $made | toYaml }}
{{- end }}

{{/* What the gateway would refuse when it starts, and what an upgrade could not carry out. */}}
{{- define "amqp-gateway.refuse" -}}
{{- if not (or .Values.users.existingSecret .Values.anonymous .Values.kerberos.existingSecret .Values.tls.verifyClients) }}
{{- fail "nobody could connect: set users.existingSecret, kerberos.existingSecret or tls.verifyClients, or say anonymous: true" }}
{{- end }}
{{- if and .Values.tls.verifyClients (not (include "amqp-gateway.tlsSecret" .)) }}
{{- fail "tls.verifyClients needs tls.existingSecret or tls.certificate.create" }}
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
{{- fail "serviceMonitor and podMonitor are both enabled: each pod would be scraped twice, and sums be doubled" }}
{{- end }}
{{- if and (has "ReadWriteOncePod" .Values.persistence.accessModes) (or .Values.auditClose.enabled (and .Values.reconcile.enabled (not .Values.reconcile.log))) }}
{{- fail "persistence.accessModes has ReadWriteOncePod: reconcile and auditClose mount the same volume, in pods of their own, which it makes impossible; say ReadWriteOnce, or reconcile what is archived elsewhere (reconcile.log)" }}
{{- end }}
{{- if not .Values.persistence.existingClaim }}
{{- include "amqp-gateway.refuseResize" . }}
{{- end }}
{{- if gt (int .Values.replicas) 1 }}
{{- include "amqp-gateway.refusePods" . }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.refusePods" -}}
{{- if not .Values.config.group }}
{{- fail "replicas is more than 1, which needs config.group: without it each pod would have queues of its own, and clients would find theirs in one of them. In a group all nodes are at upstreams" }}
{{- end }}
{{- if .Values.persistence.existingClaim }}
{{- fail "replicas is more than 1, and persistence.existingClaim is one volume: each pod has its own" }}
{{- end }}
{{- if .Values.reconcile.follow.enabled }}
{{- fail "replicas is more than 1, and reconcile.follow follows one log: without it each pod's is reconciled on the schedule" }}
{{- end }}
{{- end }}

{{/* Kubernetes would say "Forbidden", and nothing else. */}}
{{- define "amqp-gateway.refuseResize" -}}
{{- $name := include "amqp-gateway.fullname" . }}
{{- $before := lookup "apps/v1" "StatefulSet" .Release.Namespace $name | default dict }}
{{- range dig "spec" "volumeClaimTemplates" list $before }}
{{- $size := .spec.resources.requests.storage }}
{{- if ne $size $.Values.persistence.size }}
{{- fail (printf "persistence.size is %s, and the StatefulSet %s has %s, which Kubernetes lets nobody change. Enlarge the claim (kubectl --namespace %s patch pvc data-%s-0 --patch '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'; its class must allow that), remove the StatefulSet alone (kubectl --namespace %s delete statefulset %s --cascade=orphan), then upgrade again: the pod and its volume stay" $.Values.persistence.size $name $size $.Release.Namespace $name $.Values.persistence.size $.Release.Namespace $name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names of the CronJobs, which have 52 characters at most: their jobs' are longer. */}}
{{- define "amqp-gateway.reconcileName" -}}
{{- if hasKey . "ordinal" }}
{{- printf "%s-reconcile-%d" (include "amqp-gateway.fullname" . | trunc 38 | trimSuffix "-") (int .ordinal) }}
{{- else }}
{{- printf "%s-reconcile" (include "amqp-gateway.fullname" . | trunc 42 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{/* Of a Deployment, whose pods' names have 63. */}}
{{- define "amqp-gateway.followName" -}}
{{- printf "%s-follow" (include "amqp-gateway.fullname" . | trunc 40 | trimSuffix "-") }}
{{- end }}

{{- define "amqp-gateway.closeName" -}}
{{- if hasKey . "ordinal" }}
{{- printf "%s-close-%d" (include "amqp-gateway.fullname" . | trunc 42 | trimSuffix "-") (int .ordinal) }}
{{- else }}
{{- printf "%s-close" (include "amqp-gateway.fullname" . | trunc 46 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{/* The labels of a job's pod: a list of the root, the job, and whether it mounts the volume. */}}
{{- define "amqp-gateway.jobLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "amqp-gateway.name" $root }}-{{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- if index . 2 }}
{{ include "amqp-gateway.volumeLabel" $root }}
{{- end }}
{{- with merge (dict) $root.Values.jobs.podLabels $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The metadata of a job's pod: the same list. */}}
{{- define "amqp-gateway.jobMetadata" -}}
{{- $root := index . 0 -}}
labels: {{- include "amqp-gateway.jobLabels" . | nindent 2 }}
{{- with merge (dict) $root.Values.jobs.podAnnotations $root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the pods of all jobs over the audit log have in common: a list of the root, and whether they
mount the gateway's volume. */}}
{{- define "amqp-gateway.jobPod" -}}
{{- $root := index . 0 }}
{{- with $root.Values }}
{{- with .imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml .podSecurityContext | nindent 2 }}
{{- with .jobs.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .jobs.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .jobs.tolerations | default .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .jobs.initContainers }}
initContainers: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- if index . 1 }}
# The volume can be mounted on one node only: where the gateway's pod is, or another such job's. Where
# there is none, as when the gateway is scaled down, any node will do: the pod has the label itself.
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "amqp-gateway.volumeLabel" $root | nindent 12 }}
{{- end }}
{{- end }}

{{/* What the container of each such job has beside its command. */}}
{{- define "amqp-gateway.jobContainer" -}}
securityContext: {{- toYaml .Values.containerSecurityContext | nindent 2 }}
env:
  - {name: TMPDIR, value: /tmp}
  {{- with .Values.jobs.extraEnv }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with .Values.jobs.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.jobMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- with .Values.jobs.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "amqp-gateway.jobVolumes" -}}
- name: tmp
  emptyDir: {sizeLimit: {{ .Values.jobs.tmpSizeLimit | quote }}}
{{- with .Values.jobs.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The gateway's data is in the volume's data/; in volumes of earlier charts, in its root. */}}
{{- define "amqp-gateway.findLog" -}}
log=/var/lib/amqp-gateway/data
if [ ! -e "$log/store.sqlite" ] && [ -e /var/lib/amqp-gateway/store.sqlite ]; then
  log=/var/lib/amqp-gateway
fi
{{- end }}

{{/* Who may make pods for Spark. */}}
{{- define "amqp-gateway.sparkAccount" -}}
{{- .Values.reconcile.spark.serviceAccount | default (printf "%s-spark" (include "amqp-gateway.fullname" . | trunc 40 | trimSuffix "-")) }}
{{- end }}

{{/* The arguments of `reconcile` as a list, its log first, where that is not in the volume. */}}
{{- define "amqp-gateway.reconcileArguments" -}}
{{- with .Values.reconcile }}
{{- $made := list "reconcile" .log "--out" (required "reconcile.log needs reconcile.out" .out) "--keep" (int .keep | toString) }}
{{- with .state }}
{{- $made = concat $made (list "--state" .) }}
{{- end }}
{{- if $.Values.audit.trustedKeys.existingConfigMap }}
{{- $made = concat $made (list "--trust" (printf "/etc/amqp-gateway/trusted/%s" $.Values.audit.trustedKeys.key)) }}
{{- end }}
{{- concat $made .arguments | toJson }}
{{- end }}
{{- end }}

{{/* The pod of `reconcile`, on a schedule or following the log. */}}
{{- define "amqp-gateway.reconcilePod" -}}
{{- $submits := eq .Values.reconcile.runner "submit" }}
automountServiceAccountToken: {{ $submits }}
{{- if $submits }}
serviceAccountName: {{ include "amqp-gateway.sparkAccount" . | quote }}
{{- end }}
{{- include "amqp-gateway.jobPod" (list . (not .Values.reconcile.log)) }}
containers:
  - name: reconcile
    {{- if $submits }}
    image: {{ required "reconcile.runner: submit needs reconcile.spark.image" .Values.reconcile.spark.image | quote }}
    {{- else }}
    image: "{{ .Values.reconcile.image.repository }}:{{ .Values.reconcile.image.tag | default .Chart.AppVersion }}"
    {{- end }}
    imagePullPolicy: {{ .Values.reconcile.image.pullPolicy }}
    {{- if $submits }}
    {{- include "amqp-gateway.submit" . | nindent 4 }}
    {{- else if .Values.reconcile.log }}
    command: [amqp-gateway]
    args:
      {{- include "amqp-gateway.reconcileArguments" . | fromJsonArray | toYaml | nindent 6 }}
      - --master
      - {{ .Values.reconcile.master | quote }}
      {{- with .Values.reconcile.sparkConf.existingSecret }}
      - --properties-file
      - /etc/amqp-gateway/spark/{{ $.Values.reconcile.sparkConf.key }}
      {{- end }}
    {{- else }}
    command: [sh, -c]
    args:
      - |
        {{- include "amqp-gateway.findLog" . | nindent 8 }}
        exec amqp-gateway reconcile "$log/audit" --out /var/lib/amqp-gateway-reports --keep {{ int .Values.reconcile.keep }} --master {{ .Values.reconcile.master | squote }}{{ range .Values.reconcile.arguments }} {{ . | squote }}{{ end }}
        {{- if .Values.reconcile.follow.enabled }} \
          --state /var/lib/amqp-gateway-reports/following --follow {{ int .Values.reconcile.follow.seconds }}
        {{- end }}
        {{- if .Values.audit.trustedKeys.existingConfigMap }} \
          --trust {{ printf "/etc/amqp-gateway/trusted/%s" .Values.audit.trustedKeys.key | squote }}
        {{- end }}
    {{- end }}
    resources: {{- toYaml .Values.reconcile.resources | nindent 6 }}
    {{- include "amqp-gateway.jobContainer" . | nindent 4 }}
      {{- if $submits }}
      - name: POD_IP
        valueFrom: {fieldRef: {fieldPath: status.podIP}}
      - name: POD_NAME
        valueFrom: {fieldRef: {fieldPath: metadata.name}}
      {{- end }}
    volumeMounts:
      {{- if not .Values.reconcile.log }}
      - {name: data, mountPath: /var/lib/amqp-gateway, readOnly: true}
      - {name: data, mountPath: /var/lib/amqp-gateway-reports, subPath: reports}
      {{- end }}
      {{- include "amqp-gateway.jobMounts" . | nindent 6 }}
      {{- if .Values.reconcile.sparkConf.existingSecret }}
      - {name: spark-conf, mountPath: /etc/amqp-gateway/spark, readOnly: true}
      {{- end }}
      {{- if .Values.audit.trustedKeys.existingConfigMap }}
      - {name: trusted, mountPath: /etc/amqp-gateway/trusted, readOnly: true}
      {{- end }}
  {{- with .Values.jobs.extraContainers }}{{ toYaml . | nindent 2 }}{{ end }}
volumes:
  {{- if not .Values.reconcile.log }}
  - name: data
    persistentVolumeClaim: {claimName: {{ include "amqp-gateway.claim" . | quote }}}
  {{- end }}
  {{- include "amqp-gateway.jobVolumes" . | nindent 2 }}
  {{- with .Values.reconcile.sparkConf.existingSecret }}
  - name: spark-conf
    secret: {secretName: {{ . | quote }}, defaultMode: 0440}
  {{- end }}
  {{- with .Values.audit.trustedKeys.existingConfigMap }}
  - name: trusted
    configMap: {name: {{ . | quote }}}
  {{- end }}
{{- end }}

{{/* Command and arguments of spark-submit: the driver is in the pod, so that its exit code is known. */}}
{{- define "amqp-gateway.submit" -}}
command: [/opt/spark/bin/spark-submit]
args:
  - --master
  - k8s://https://kubernetes.default.svc
  - --deploy-mode
  - client
  - --name
  - {{ include "amqp-gateway.reconcileName" . }}
  {{- with .Values.reconcile.sparkConf.existingSecret }}
  - --properties-file
  - /etc/amqp-gateway/spark/{{ $.Values.reconcile.sparkConf.key }}
  {{- end }}
  {{- with .Values.reconcile.spark }}
  - --driver-memory
  - {{ .driverMemory | quote }}
  {{- $conf := dict
    "spark.driver.host" "$(POD_IP)"
    "spark.executor.instances" (toString .executors)
    "spark.executor.cores" (toString .executorCores)
    "spark.executor.memory" .executorMemory
    "spark.kubernetes.container.image" .image
    "spark.kubernetes.driver.pod.name" "$(POD_NAME)"
    "spark.kubernetes.namespace" $.Release.Namespace
    "spark.kubernetes.authenticate.serviceAccountName" (include "amqp-gateway.sparkAccount" $)
  }}
  {{- range $key, $value := merge (dict) .conf $conf }}
  - --conf
  - {{ printf "%s=%s" $key $value | quote }}
  {{- end }}
  - --py-files
  - {{ .package | quote }}
  - {{ .jobs | quote }}
  {{- end }}
  {{- include "amqp-gateway.reconcileArguments" . | fromJsonArray | toYaml | nindent 2 }}
{{- end }}
