curl "https://api.subsidia.protypa.fr/v1/ai/extracted-data?source=ticket-4812&category=contact" \
  -H "Authorization: Bearer $SUBSIDIA_API_KEY"
