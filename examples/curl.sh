#!/bin/bash
# The whole way of two players by plain curl: join, follow, accept, match, result.
#
# make serve                       (in another terminal)
# bash examples/curl.sh            [http://127.0.0.1:8750]
set -euo pipefail

server=${1:-http://127.0.0.1:8750}
guests=$$-$RANDOM

if ! command -v curl >/dev/null; then
    echo "curl.sh: curl is missing: sudo apt-get install curl" >&2
    exit 77
fi

field() {  # field NAME: the first value of that name in the JSON on standard input
    grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4
}

join() {  # join PLAYER RATING: prints the ticket; the key makes it safe to send again
    curl -sS --fail-with-body --retry 3 "$server/v1/queues/duel/tickets" -H "Idempotency-Key: $1-$guests" \
        -d "{\"players\": [{\"id\": \"$1-$guests\", \"rating\": $2}]}" | field id
}

ann=$(join ann 1520)
ben=$(join ben 1480)
echo "joined: $ann $ben"

# Follow ann's ticket as server-sent events; --max-time is how long to wait at the most.
until_event() {  # until_event TICKET TYPE: prints the event's data
    { curl -sSN --max-time 60 "$server/v1/tickets/$1/events" || true; } | grep -m 1 "^data: .*\"type\":\"$2\""
}

proposal=$(until_event "$ann" proposed | grep -o 'p-[0-9]\{12\}' | head -n 1)
echo "proposed: $proposal"
for player in ann ben; do
    curl -sS --fail-with-body "$server/v1/proposals/$proposal/accept" -d "{\"player\": \"$player-$guests\"}"
    echo
done

match=$(until_event "$ann" matched | grep -o 'm-[0-9]\{12\}' | head -n 1)
echo "matched: $match"
curl -sS --fail-with-body "$server/v1/matches/$match"
echo
curl -sS --fail-with-body "$server/v1/matches/$match/result" -d '{"teams": [{"rank": 1}, {"rank": 2}]}'
echo
