"""S3 by moto, which asks everybody for a signature but who makes the first user.

Prints one line of JSON: where it listens, and that user's keys. Ends when its standard input does.
"""

import json
import os
import sys

MAKING = ("create_user", "put_user_policy", "create_access_key")
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(len(MAKING))

import boto3  # noqa: E402  # moto reads the environment when it is imported
from moto.server import ThreadedMotoServer  # noqa: E402

USER = "auditor"
EVERYTHING = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}


def main() -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    users = boto3.client(
        "iam",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="nobody",
        aws_secret_access_key="nothing",
    )
    users.create_user(UserName=USER)
    users.put_user_policy(
        UserName=USER, PolicyName="everything", PolicyDocument=json.dumps(EVERYTHING)
    )
    keys = users.create_access_key(UserName=USER)["AccessKey"]
    told = {
        "endpoint": endpoint,
        "access_key": keys["AccessKeyId"],
        "secret_key": keys["SecretAccessKey"],
    }
    print(json.dumps(told), flush=True)
    sys.stdin.read()
    server.stop()


main()
