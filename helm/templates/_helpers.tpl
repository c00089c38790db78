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
{{- $fixed := dict
  "listen" (dict "amqp" "0.0.0.0:5672")
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
{{- if .Values.tls.existingSecret }}
{{- $_ := set $fixed.listen "amqps" "0.0.0.0:5671" }}
{{- $tls := dict "certificate" "/etc/amqp-gateway/tls/tls.crt" "key" "/etc/amqp-gateway/tls/tls.key" }}
{{- if .Values.tls.verifyClients }}
{{- $_ := set $tls "client_ca" "/etc/amqp-gateway/tls/ca.crt" }}
{{- end }}
{{- $_ := set $fixed "tls" $tls }}
{{- end }}
{{- mustMergeOverwrite $config $fixed | toYaml }}
{{- end }}

{{/* The names of the CronJobs, which have 52 characters at most: their jobs' are longer. */}}
{{- define "amqp-gateway.reconcileName" -}}
{{- printf "%s-reconcile" (include "amqp-gateway.fullname" . | trunc 42 | trimSuffix "-") }}
{{- end }}

{{/* Of a Deployment, whose pods' names have 63. */}}
{{- define "amqp-gateway.followName" -}}
{{- printf "%s-follow" (include "amqp-gateway.fullname" . | trunc 40 | trimSuffix "-") }}
{{- end }}

{{- define "amqp-gateway.closeName" -}}
{{- printf "%s-close" (include "amqp-gateway.fullname" . | trunc 46 | trimSuffix "-") }}
{{- end }}

{{/* What the pods of all jobs over the audit log have in common. */}}
{{- define "amqp-gateway.jobPod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10010
  runAsGroup: 10010
  fsGroup: 10010
  seccompProfile: {type: RuntimeDefault}
# The volume can be mounted on one node only: the gateway's.
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "amqp-gateway.selectorLabels" . | nindent 12 }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The gateway's data is in the volume's data/; in volumes of earlier charts, in its root. */}}
{{- define "amqp-gateway.findLog" -}}
log=/var/lib/amqp-gateway/data
if [ ! -e "$log/store.sqlite" ] && [ -e /var/lib/amqp-gateway/store.sqlite ]; then
  log=/var/lib/amqp-gateway
fi
{{- end }}

{{/* The pod of `reconcile`, on a schedule or following the log. */}}
{{- define "amqp-gateway.reconcilePod" -}}
{{- include "amqp-gateway.jobPod" . }}
containers:
  - name: reconcile
    image: "{{ .Values.reconcile.image.repository }}:{{ .Values.reconcile.image.tag | default .Chart.AppVersion }}"
    imagePullPolicy: {{ .Values.reconcile.image.pullPolicy }}
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
    resources: {{- toYaml .Values.reconcile.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
    volumeMounts:
      - {name: data, mountPath: /var/lib/amqp-gateway, readOnly: true}
      - {name: data, mountPath: /var/lib/amqp-gateway-reports, subPath: reports}
      {{- if .Values.audit.trustedKeys.existingConfigMap }}
      - {name: trusted, mountPath: /etc/amqp-gateway/trusted, readOnly: true}
      {{- end }}
volumes:
  - name: data
    persistentVolumeClaim: {claimName: data-{{ include "amqp-gateway.fullname" . }}-0}
  {{- with .Values.audit.trustedKeys.existingConfigMap }}
  - name: trusted
    configMap: {name: {{ . | quote }}}
  {{- end }}
{{- end }}
